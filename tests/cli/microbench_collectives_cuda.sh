#!/usr/bin/env bash
# shardsim-microbench --collectives --device cuda on the stand-in for CUDA and NCCL: four ranks, two to a node. What is written is a
# log of nccl-tests that our reader takes; its times are those of no GPU. A rank that dies ends the others.
# Usage: microbench_collectives_cuda.sh SHARDSIM-MICROBENCH-ON-THE-STAND-IN SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") simulator=$(realpath "$2") source=$(realpath "$3")
. "$source/tests/cli/lib.sh"
mkdir messages

# start RANK PORT ARGUMENT...: one rank as torchrun starts it, in the background.
start() {
  local rank=$1 port=$2
  shift 2
  RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$((rank % 2)) LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port TMPDIR=$PWD/messages \
    NCCL_HOSTID=node$((rank / 2)) timeout 120 "$shardsim" --device cuda --collectives "$@" >"streams/rank$rank.out" 2>"streams/rank$rank.err" </dev/null &
}
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

echo "-- four ranks"
port=$(port) pids=()
for rank in 0 1 2 3; do start $rank "$port" --quick -o sweep.txt; pids+=($!); done
for rank in 0 1 2 3; do
  code=0
  wait "${pids[$rank]}" || code=$?
  check "rank $rank ends well: $(cat "streams/rank$rank.err")" [ "$code" -eq 0 ]
done
check "both collectives, five sizes each" [ "$(grep -cE '^ +[0-9]+ ' sweep.txt)" -eq 10 ]
check "out of place and in place" grep -q 'time   algbw   busbw #wrong     time   algbw   busbw #wrong' sweep.txt
check "how it was timed" grep -q '5 calls between two events after 2 others; mean over the ranks' sweep.txt
check "what NCCL was told" grep -q '^# processors allowed: ' sweep.txt
check "four devices on two hosts" [ "$(grep -c '^#  Rank' sweep.txt)" -eq 8 ]
code=0
"$simulator" cluster calibrate --cluster toy_2x4 --measurements sweep.txt -o calibrated.yaml >streams/out 2>streams/err || code=$?
check "our reader takes it, whatever it makes of such times: $code $(cat streams/err)" bash -c "! grep -q 'sweep.txt:' streams/err"

echo "-- a rank that dies"
port=$(port) pids=()
for rank in 0 1 2 3; do start $rank "$port" -o dead.txt; pids+=($!); done
sleep 2
pkill -KILL -P "${pids[2]}" || true
for rank in 0 1 3; do
  code=0
  wait "${pids[$rank]}" || code=$?
  check "rank $rank ends with 1, not $code" [ "$code" -eq 1 ]
  check "and names who died: $(cat "streams/rank$rank.err")" grep -qE '^error: rank 2 died' "streams/rank$rank.err"
done
wait "${pids[2]}" 2>/dev/null || true
check "no file of it" [ ! -e dead.txt ]
finish 12
