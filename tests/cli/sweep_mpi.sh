#!/usr/bin/env bash
# shardsim sweep under mpirun: the bytes of a local run, ranks that die, errors told once.
# Usage: sweep_mpi.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
[ -e "$(dirname "$shardsim")/shardsim_mpi.so" ] || without_mpi "this build has no MPI part"
command -v mpirun >/dev/null || without_mpi "no mpirun"
mpirun --version | grep 'Open MPI' >/dev/null || without_mpi "mpirun is not Open MPI's, whose options this test uses"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

same_results() { cmp -s "$1/sweep.csv" "$2/sweep.csv" && cmp -s "$1/sweep.h5" "$2/sweep.h5" && cmp -s "$1/report.html" "$2/report.html"; }
# launch RANKS ARGUMENT...: streams as of run, exit code in $code.
launch() {
  local ranks=$1
  shift
  code=0
  timeout "$patience" mpirun --oversubscribe --bind-to none -n "$ranks" "$shardsim" "$@" >streams/out 2>streams/err </dev/null || code=$?
}
many() {
  printf 'schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: row_wise}\npayload: planned\nsweep:\n'
  printf '  random: {points: %s, seed: 3, axes: {cluster.nics.rate: {from: 10 Gbit/s, to: 100 Gbit/s}, workload.batch_per_gpu: {from: 8, to: 64}}}\n' "$1"
}
many 300 >many.yaml
many 8 >few.yaml

# grown FOLDER: some points are finished.
grown() { [ "$(stat -c %s "$1"/points/local.points)" -ge 8000 ]; }
# start_and_kill FOLDER [OPTION]...: many.yaml on three ranks; kills the last one in the middle. Exit code in $code.
start_and_kill() {
  local folder=$1
  shift
  timeout "$patience" mpirun "$@" --oversubscribe --bind-to none -n 3 "$shardsim" sweep many.yaml -o "$folder" >streams/out 2>streams/err </dev/null &
  launcher=$!
  until_true grown "$folder"
  # The last of the processes that mpirun started is not rank 0.
  ranks=$(cat "/proc/$launcher/task/"*/children 2>/dev/null || true)
  mpirun_pid=$launcher
  [ "$(wc -w <<<"$ranks")" -gt 1 ] || { mpirun_pid=$(awk '{print $1}' <<<"$ranks"); ranks=$(cat "/proc/$mpirun_pid/task/"*/children); }
  victim=$(tr ' ' '\n' <<<"$ranks" | grep -v '^$' | tail -1)
  kill -KILL "$victim"
  code=0
  wait "$launcher" || code=$?
}

echo "-- the same bytes"
run sweep many.yaml -o local -j 2 -q
check "a local run ($code): $(cat streams/err)" [ "$code" -eq 0 ]
launch 4 sweep many.yaml -o mpi
check "under mpirun ($code): $(cat streams/err)" [ "$code" -eq 0 ]
check "one rank speaks: $(cat streams/err)" [ "$(grep -c '^note: 300 points$' streams/err)" -eq 1 ]
check "the table once" [ "$(grep -c 'POINTS, ' streams/out)" -eq 1 ]
check "it gives the local bytes" same_results local mpi
launch 4 sweep few.yaml -o few
check "more ranks than it takes ($code): $(cat streams/err)" [ "$code" -eq 0 ]
launch 1 sweep many.yaml -o single -q
check "mpirun with one process is a local run ($code)" same_results local single

echo "-- a rank dies"
# mpirun ends the other ranks: the one that tells what is kept may not have had a processor in between. Three tries.
for _ in 1 2 3; do
  rm -rf dead
  start_and_kill dead
  ! grep -q '^note: .* finished and kept in dead' streams/err || break
done
check "mpirun ends with an error" [ "$code" -ne 0 ]
check "a note says what is kept: $(cat streams/err)" grep -qE '^note: [0-9,]+ of 300 points are finished and kept in dead; the same command continues with the others' streams/err
check "what was finished is kept" [ "$(stat -c %s dead/points/local.points)" -ge 8000 ]
launch 3 sweep many.yaml -o dead
check "the next call goes on: $(cat streams/err)" grep -qE '^note: [0-9,]+ of them were finished before$' streams/err
check "and gives the same bytes" same_results local dead

echo "-- a launcher that goes on without a rank"
if mpirun --help all 2>/dev/null | grep -- '-enable-recovery' >/dev/null; then
  start_and_kill on --enable-recovery
  check "the sweep goes on without it ($code): $(cat streams/err)" [ "$(wc -l <on/sweep.csv)" -eq 301 ]
  check "and gives the same bytes" same_results local on
fi

echo "-- a simulation that dies costs its rank nothing"
timeout "$patience" mpirun --oversubscribe --bind-to none -n 2 "$shardsim" sweep many.yaml -o child -q >streams/out 2>streams/err </dev/null &
launcher=$!
until_true grown child
# The child of a rank: a shardsim whose parent is one.
for process in $(pgrep -x shardsim); do
  parent=$(awk '/^PPid:/ {print $2}' "/proc/$process/status" 2>/dev/null || echo 1)
  [ "$(readlink "/proc/$process/cwd")" = "$PWD" ] || continue
  [ "$(cat "/proc/$parent/comm" 2>/dev/null)" = shardsim ] && kill -KILL "$process" && break
done
code=0
wait "$launcher" || code=$?
check "it goes on to the end ($code): $(cat streams/err)" [ "$code" -eq 0 ]
check "with the same bytes" same_results local child

echo "-- ranks that have another sweep"
code=0
timeout "$patience" mpirun --oversubscribe --bind-to none -n 1 "$shardsim" sweep few.yaml -o mixed : \
  -n 2 "$shardsim" sweep few.yaml -o mixed --set iterations=7 >streams/out 2>streams/err </dev/null || code=$?
check "end it with 1, not $code: $(cat streams/err)" [ "$code" -eq 1 ]
check "and are named as the cause" grep -q '^error: few.yaml: a process that simulates has another sweep' streams/err
check "none of their points is a result" [ ! -e mixed/sweep.csv ]

echo "-- what it refuses"
launch 3 sweep missing.yaml -o bad
check "a missing file ends it with 2, not $code" [ "$code" -eq 2 ]
check "told once: $(cat streams/err)" [ "$(grep -c '^error: ' streams/err)" -eq 1 ]
launch 3 sweep many.yaml -o bad -j 2
check "-j is mpirun's business ($code)" [ "$code" -eq 2 ]
check "told once: $(cat streams/err)" [ "$(grep -c '^error: argument --jobs' streams/err)" -eq 1 ]
finish 15
