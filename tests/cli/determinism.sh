#!/usr/bin/env bash
# The same scenario and seed give the same files byte for byte: run after run, for any number of jobs, in any locale,
# folder and terminal; --json prints the very bytes of result.json.
# Usage: determinism.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

same() {
  for file in result.json timeline.h5 report.html; do
    check "$file of $1 and $2 are the same" cmp -s "$1/$file" "$2/$file"
  done
}

for name in toy flexshard two_jobs; do
  scenario=$source/scenarios/$name.yaml
  run run "$scenario" -o "$name/first" --trace all
  check "$name runs: $(cat streams/err)" [ "$code" -eq 0 ]
  mv streams/out table.txt
  for file in result.json timeline.h5 report.html; do check "$name writes $file" [ -s "$name/first/$file" ]; done
  sleep 1.1 # another second on the clock
  run run "$scenario" -o "$name/again" -j 2 --trace all
  same "$name/first" "$name/again"
  check "the table is the same" cmp -s table.txt streams/out
  check "the traces are the same" diff -rq "$name/first/trace" "$name/again/trace"
  run run "$scenario" -o "$name/many" -j 16 --json
  same "$name/first" "$name/many"
  check "--json prints result.json" cmp -s streams/out "$name/first/result.json"
done

scenario=$source/scenarios/toy.yaml
if locale -a 2>/dev/null | grep -iE '^de_DE' >/dev/null; then
  code=0
  LC_ALL=$(locale -a | grep -iE '^de_DE' | sed -n 1p) "$shardsim" run "$scenario" -o german >streams/out 2>streams/err || code=$?
  check "a decimal comma changes nothing" [ "$code" -eq 0 ]
  same toy/first german
fi
(mkdir -p elsewhere && cd elsewhere && TERM=dumb NO_COLOR=1 "$shardsim" run "$scenario" -o ../moved >/dev/null 2>&1)
same toy/first moved

run run "$scenario" -o seeded --seed 7
same toy/first seeded
run run "$scenario" -o other --seed 8
check "another seed is in the result" grep -q '"seed": 8' other/result.json

run run "$scenario" -o stamped --stamp
check "--stamp writes the time into timeline.h5 alone" cmp -s stamped/result.json toy/first/result.json
if cmp -s stamped/timeline.h5 toy/first/timeline.h5; then fail "--stamp writes nothing"; fi

for command in "plan $scenario --case flexshard_3tier" "lower $scenario --case flexshard_3tier"; do
  # shellcheck disable=SC2086
  run $command
  mv streams/out once.json
  # shellcheck disable=SC2086
  run $command -o written.json
  check "'$command -o' writes what it prints" cmp -s once.json written.json
  rm written.json
done
finish 30
