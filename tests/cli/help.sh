#!/usr/bin/env bash
# Help, version, options and streams of the command line. The two examples that end each --help are run.
# Usage: help.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
ln -s "$source/scenarios" scenarios
mkdir bin
ln -s "$shardsim" bin/shardsim

# The command of each line that follows `Examples:`.
examples() { sed -n '/^Examples:/,$p' "$1" | tail -n +2 | sed -E 's/^ +//'; }

run_examples() {
  while IFS= read -r line; do
    checks=$((checks + 1))
    [[ $line == shardsim\ * ]] || fail "an example is no command: $line"
    (PATH=$PWD/bin:$PATH timeout "$patience" bash -euc "$line" >streams/example 2>streams/err </dev/null) || fail "the example '$line' fails: $(cat streams/err)"
    [ -s streams/example ] || [[ $line == *" -o "* ]] || fail "the example '$line' prints nothing"
  done
}

echo "-- help"
# The files that the examples of compare read, in addition to those that the examples of run write.
"$shardsim" run scenarios/toy.yaml -o out/toy --trace all -q >/dev/null
for command in check sweep list plan explain lower compare convert cluster collective compute cost-model workload autoshard dreamshard run; do
  run "$command" --help
  check "$command --help exits 0, not $code" [ "$code" -eq 0 ]
  check "$command --help keeps stderr empty" [ ! -s streams/err ]
  check "$command --help names its usage" grep -q "^Usage: shardsim $command" streams/out
  examples streams/out >list
  check "$command --help ends with two examples" [ "$(wc -l <list)" -eq 2 ]
  run_examples <list
  mv streams/out full
  run "$command" -h
  check "$command -h says the same" cmp -s streams/out full
done
for command in why import drift confidence schema explore; do  # whose examples read files of the user, or that the manual runs
  run "$command" --help
  check "$command --help exits 0, not $code" [ "$code" -eq 0 ]
  check "$command --help keeps stderr empty" [ ! -s streams/err ]
  check "$command --help names its usage" grep -q "^Usage: shardsim $command" streams/out
  examples streams/out >list
  check "$command --help ends with an example" [ -s list ]
done
for spelling in --help -h; do
  run "$spelling"
  check "$spelling exits 0" [ "$code" -eq 0 ]
  check "$spelling keeps stderr empty" [ ! -s streams/err ]
done
examples streams/out >list
check "--help ends with two examples" [ "$(wc -l <list)" -eq 2 ]
run_examples <list
for command in run explore sweep check list plan explain why lower compare convert import cluster collective compute cost-model workload autoshard dreamshard drift emulate validate-emulated confidence schema; do check "--help lists $command" grep -qE "^ +$command " streams/out; done
mv streams/out full
run
check "no command exits 2, not $code" [ "$code" -eq 2 ]
check "no command keeps stdout empty" [ ! -s streams/out ]
check "no command prints the help on stderr" cmp -s streams/err full

echo "-- version"
run --version
check "--version exits 0" [ "$code" -eq 0 ]
check "--version prints one line: $(cat streams/out)" grep -qE '^shardsim [^ ]+$' streams/out
check "--version keeps stderr empty" [ ! -s streams/err ]

echo "-- options"
toy=scenarios/toy.yaml
refuse 2 'argument rum: .*run' rum
refuse 2 'argument --versio' --versio
refuse 2 'argument --jason: .*--json' run $toy --jason
refuse 2 'argument --js' run $toy --js
refuse 2 'argument --out' run $toy --out x
refuse 2 'argument -x' run $toy -x
refuse 2 'argument --json.*twice' run $toy --json --json
refuse 2 'argument (--jobs|-j).*twice' run $toy -j 1 --jobs 2
refuse 2 'argument (--output|-o).*twice' run $toy -o a -o b
refuse 2 'argument --seed' run $toy --seed
refuse 2 'argument --json' run $toy --json=yes
refuse 2 'argument --case' plan $toy
refuse 2 'argument --case' lower $toy

echo "-- streams"
run run $toy -o quiet -q
check "-q keeps stderr empty" [ ! -s streams/err ]
check "the table is on stdout" grep -q 'CASES' streams/out
check "no colour where stdout is no terminal" [ -z "$(grep -P '\x1b' streams/out || true)" ]
check "no line of the table is wider than 100 columns" [ "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' streams/out)" -le 100 ]
run run $toy -o loud
check "the place of the report is on stderr" grep -q 'loud/report.html' streams/err
run run $toy -o json --json
check "--json begins an object" [ "$(head -c 1 streams/out)" = "{" ]
check "--json prints nothing else" cmp -s streams/out json/result.json
code=0
"$shardsim" run $toy -o piped 2>/dev/null | head -c 10 >streams/out || true
check "a closed pipe loses no file" [ -s piped/result.json ]
# A bare chroot has no pseudo-terminals; everywhere else they are tested.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
  TERM=xterm script -qec "'$shardsim' run $toy -o tty" /dev/null >streams/out </dev/null
  check "a terminal gets colours" grep -qP '\x1b\[[0-9;]*m' streams/out
  for setting in NO_COLOR=1 TERM=dumb; do
    env TERM=xterm "$setting" script -qec "'$shardsim' run $toy -o tty" /dev/null >streams/out </dev/null
    check "$setting: no colours" [ -z "$(grep -P '\x1b\[[0-9;]*m' streams/out || true)" ]
  done
  NO_COLOR='' TERM=xterm script -qec "'$shardsim' run $toy -o tty" /dev/null >streams/out </dev/null
  check "an empty NO_COLOR forbids nothing" grep -qP '\x1b\[[0-9;]*m' streams/out
else
  echo "(no pseudo-terminal here: colours are not tested)"
fi

echo "-- cases that do not fit"
unfit=(--set cases.0.planner.name=data_parallel --set "cluster.gpu.hbm=1 MiB")
run run $toy "${unfit[@]}" -o unfit
check "one case over memory ends the run" [ "$code" -eq 3 ]
run run $toy "${unfit[@]}" --skip-unfit --json -o fitting
check "--skip-unfit runs the others" [ "$code" -eq 0 ]
check "and leaves that one out" [ "$(jq '.cases | length' fitting/result.json)" -eq 2 ]

echo "-- files"
run plan $toy --case row_wise -o plans/deep/plan.json
check "a missing parent folder is made" [ -s plans/deep/plan.json ]
run plan $toy --case row_wise -o plans/deep/plan.json
check "a plan may be written over a plan" [ "$code" -eq 0 ]
refuse 2 'plan.json: .*--force' lower $toy --case row_wise -o plans/deep/plan.json
run lower $toy --case row_wise -o plans/deep/plan.json --force
check "--force writes over another kind" grep -q 'shardsim.program/2' plans/deep/plan.json
run plan $toy --case row_wise -o -
check "-o - is standard output" grep -q 'shardsim.plan/1' streams/out
# But for those whose planners search for seconds and that other tests read: two are run by tests/shared_results.sh, and one is
# checked by docs/manual/which_plan.md.
for file in "$source"/scenarios/*.yaml "$source"/scenarios/clusters/*.yaml "$source"/scenarios/workloads/*.yaml; do
  [[ ! $file =~ /scenarios/(published_iterations|torchrec_crosscheck|sixty_tables)\.yaml$ ]] || continue
  run check "$file"
  check "check $file: $(cat streams/err)" [ "$code" -eq 0 ]
done
for kind in plan lower; do
  run $kind $toy --case flexshard_3tier -o checked.json --force
  run check checked.json
  check "check of what $kind wrote: $(cat streams/err)" [ "$code" -eq 0 ]
done
finish 100
