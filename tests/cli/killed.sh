#!/usr/bin/env bash
# A run that is killed (kill -9, or a machine that is switched off) between any two steps of publishing its results:
# what is left is never taken for whole, files of two runs never stand side by side, and the next run tidies up.
# Usage: killed.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

# Ends the process instead of its n-th renaming.
cat >die.cpp <<'CPP'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
extern "C" int rename(const char* from, const char* to) {
  static int left = atoi(getenv("DIE_AT_RENAMING"));
  if (--left == 0) kill(getpid(), SIGKILL);
  return static_cast<int>(syscall(SYS_rename, from, to));
}
CPP
g++ -shared -fPIC -o die.so die.cpp

scenario=$source/scenarios/toy.yaml
one_run() { "$shardsim" run "$scenario" --case row_wise -q "$@" >streams/out 2>streams/err; }
sums() { (cd "$1" && find . -type f ! -name '.shardsim-files' -exec cksum {} + | sort); }
one_run -o old --trace all
one_run -o new --seed 9
check "the two runs differ in every file" [ -z "$(comm -12 <(sums old) <(sums new))" ]

killed=0
for step in $(seq 30); do
  rm -rf out
  cp -r old out
  code=0
  LD_PRELOAD=$PWD/die.so DIE_AT_RENAMING=$step one_run -o out --seed 9 || code=$?
  [ "$code" -ne 0 ] || break
  killed=$step
  if [ "$code" -eq 1 ]; then  # the worker that writes timeline.h5 was killed, and the run says so
    check "a killed worker is told: $(cat streams/err)" grep -q "^error: the worker of .*timeline.h5' died" streams/err
    check "a killed worker costs nothing of the earlier run" diff -r old out
    continue
  fi
  check "killed at renaming $step: it was killed, not ended with $code" [ "$code" -eq 137 ]
  check "killed at renaming $step: no file beside those of another run" \
    [ -z "$(comm -23 <(sums out | grep -v '/.shardsim-') <(sums old) | comm -23 - <(sums new))" ]
  if [ -e out/result.json ]; then
    check "killed at renaming $step: with result.json one of the runs is whole" \
      bash -c 'cmp -s out/result.json old/result.json && cmp -s out/report.html old/report.html || diff -r -x ".shardsim-*" out new >/dev/null'
  else
    check "killed at renaming $step: without result.json nothing of the earlier run is there" \
      [ -z "$(comm -12 <(sums out) <(sums old))" ]
  fi
  one_run -o out --seed 9 || fail "the next run does not tidy up: $(cat streams/err)"
  check "after renaming $step: the next run leaves what it alone would" diff -r out new
done
check "it was killed at every step, and at last not: $killed" [ "$killed" -ge 4 ]

# The half-written file of a killed command does not stop the next one, nor is it taken for its result.
code=0
LD_PRELOAD=$PWD/die.so DIE_AT_RENAMING=1 "$shardsim" plan "$scenario" --case row_wise -o made/plan.json 2>streams/err || code=$?
check "a killed plan leaves no plan.json" [ ! -e made/plan.json ]
check "it was killed, not ended with $code" [ "$code" -eq 137 ]
"$shardsim" plan "$scenario" --case row_wise -o made/plan.json 2>streams/err || fail "$(cat streams/err)"
check "the next one writes it" "$shardsim" check made/plan.json
finish 20
