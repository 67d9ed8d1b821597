#!/usr/bin/env bash
# shardsim-validate with --transport mpi, a process per rank: that the data is right, what it writes, what it refuses,
# and what happens when a rank dies. Usage: validate_mpi.sh SHARDSIM VALIDATE SOURCE_DIR
# WIRE_CHECK (tests/mpi/wire_check.cpp)
set -euo pipefail
simulator=$(realpath "$1") validate=$(realpath "$2") source=$(realpath "$3") wire_check=$(realpath "${4:-/}")
shardsim=$validate
. "$source/tests/cli/lib.sh"
"$validate" --help | grep 'transports: [a-z,]*mpi' >/dev/null ||
  without_mpi "this shardsim-validate has no MPI part (cmake -DSHARDSIM_MPI=ON)"
command -v mpirun >/dev/null || without_mpi "no mpirun"
mpirun --version | grep 'Open MPI' >/dev/null || without_mpi "mpirun is not Open MPI's, whose options this test uses"

# More ranks than cores, and in containers root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpi=(mpirun --oversubscribe --bind-to none -n 8)

# launch ARGUMENT...: eight ranks; streams as of run, exit code in $code.
launch() {
  code=0
  MASTER_PORT=$(port) timeout "$patience" "${mpi[@]}" "$validate" "$@" >streams/out 2>streams/err </dev/null || code=$?
}
# A port that is free now.
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

toy=$source/scenarios/toy.yaml
cases='row_wise flexshard_2tier flexshard_3tier'
for name in $cases; do "$simulator" lower "$toy" --case "$name" -o "$name.json" >/dev/null; done

echo "-- the wire"
for how in '40000000' '1000 stop'; do
  MASTER_PORT=$(port) timeout "$patience" mpirun --oversubscribe --bind-to none -n 3 "$wire_check" $how >streams/out 2>streams/err || true
  check "$how: $(cat streams/err)" grep -qx passed streams/out
done

echo "-- the data"
for name in $cases; do
  launch "$name.json" --transport mpi --check-data --iterations 5
  check "$name equals a single process bit for bit ($code): $(cat streams/err)" [ "$code" -eq 0 ]
  check "$name says so" grep -q '^data equals a single process bit for bit after 5 iterations$' streams/out
done

echo "-- what it writes"
launch flexshard_3tier.json --transport mpi --warmup 1 --iterations 3 -o seen.timeline.json
check "a run ($code): $(cat streams/err)" [ "$code" -eq 0 ]
check "mpirun has nothing to complain of: $(cat streams/err)" [ ! -s streams/err ]
check "it is complete, over MPI" jq -e '.complete == true and .measured.transport == "mpi" and .world_size == 8' seen.timeline.json
check "three iterations of every operation on every rank" jq -e '(.ops | length) as $ops | (.spans.op | length) == 3 * 8 * $ops' seen.timeline.json
launch flexshard_3tier.json --transport mpi --warmup 0 --iterations 2 --apart -o apart.h5
check "iterations apart ($code): $(cat streams/err)" [ "$code" -eq 0 ]

echo "-- what it refuses"
refuse 1 'threads of one process.*mpirun -n 8' row_wise.json --transport mpi -o threads.h5
pids=()
port=$(port)
for rank in 0 1 2 3 4 5 6 7; do
  RANK=$rank WORLD_SIZE=8 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=8 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port timeout "$patience" \
    "$validate" row_wise.json --transport mpi -o alone.h5 >"streams/rank$rank.out" 2>"streams/rank$rank.err" </dev/null &
  pids+=($!)
done
for rank in 0 1 2 3 4 5 6 7; do
  code=0
  wait "${pids[$rank]}" || code=$?
  check "rank $rank without mpirun ends with 1: $code" [ "$code" -eq 1 ]
  check "and says why: $(cat "streams/rank$rank.err")" grep -qE '^error: .*rank 0 of 1 to MPI.*mpirun' "streams/rank$rank.err"
done
check "no file" [ ! -e threads.h5 ] && [ ! -e alone.h5 ]

echo "-- a rank dies in the middle"
iterates() { grep -q '^Threads:[^0-9]*\([89]\|1[0-9]\)$' "/proc/$(cat "pid.$1")/status"; }
# kill_one VICTIM FILE OPTION...: eight ranks, endless, started with mpirun's OPTIONs; the victim is killed once they run.
kill_one() {
  local victim=$1 file=$2
  shift 2
  rm -f ./pid.*
  MASTER_PORT=$(port) timeout "$patience" "${mpi[@]}" "$@" sh -c \
    'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$0" flexshard_3tier.json --transport mpi --warmup 0 --iterations 100000 -o '"$file" \
    "$validate" >streams/out 2>streams/err </dev/null &
  local job=$!
  # Until the victim's streams are threads beside those of MPI: then all ranks are there and iterate.
  until_true iterates "$victim"
  works "$(cat "pid.$victim")" 20
  kill -KILL "$(cat "pid.$victim")"
  local from=$SECONDS
  wait $job || true
  check "killing rank $victim ends the others within 10 s: $((SECONDS - from))" [ $((SECONDS - from)) -le 10 ]
  check "it is named: $(cat streams/err)" grep -qE "^error: rank $victim died" streams/err
  # Rank 0 collects what all have measured; without it each of the others writes its own.
  [ "$victim" -ne 0 ] || file=${file%.json}.rank1.json
  check "what was measured is on disk, marked incomplete" jq -e '.complete == false and (.spans.op | length) > 0' "$file"
}
kill_one 5 killed.timeline.json --enable-recovery
check "all others name it: $(cat streams/err)" [ "$(grep -c '^error: rank 5 died' streams/err)" -eq 7 ]
kill_one 0 headless.timeline.json --enable-recovery
kill_one 5 default.timeline.json
check "no process is left" [ -z "$(pgrep -f "$work/" || true)" ]
finish 30
