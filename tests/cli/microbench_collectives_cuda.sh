#!/usr/bin/env bash
# shardsim-microbench --collectives --device cuda on the stand-in for CUDA and NCCL: four ranks, two to a node. The output is a
# log of nccl-tests that our reader takes; its times are those of no GPU. A rank that dies ends the others. Exchanges by NCCL are
# labelled in the same way.
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
    NCCL_HOSTID=node$((rank / 2)) timeout "$patience" "$shardsim" --device cuda "${what[@]}" "$@" >"streams/rank$rank.out" 2>"streams/rank$rank.err" </dev/null &
}
what=(--collectives)
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
check "a version of NCCL whose log says nothing: $(grep -A 7 '^# what NCCL chose' sweep.txt)" \
  [ "$(grep -cE '^# - (all_reduce of [0-9]+ B|alltoall): unknown$' sweep.txt)" -eq 6 ]
check "four devices on two hosts" [ "$(grep -c '^#  Rank' sweep.txt)" -eq 8 ]
# Ranks 2 and 3 take this host for another one, whose name it has not.
on_two_hosts() { sed -E 's/^(#  Rank +[23] .* on) +[^ ]+/\1 other/' "$1"; }
on_two_hosts sweep.txt >two_hosts.txt
check "a log of two hosts" [ "$(grep -c ' on other ' two_hosts.txt)" -eq 4 ]
code=0
"$simulator" cluster calibrate --cluster toy_2x4 --measurements two_hosts.txt -o calibrated.yaml >streams/out 2>streams/err || code=$?
check "our reader takes it, whatever it makes of such times: $code $(cat streams/err)" bash -c "! grep -qE 'two_hosts.txt:[0-9]' streams/err"

echo "-- what NCCL chose, by its log"
port=$(port) pids=()
for rank in 0 1 2 3; do STAND_IN_NCCL_LOG=yes NCCL_DEBUG=WARN start $rank "$port" --quick -o chosen.txt; pids+=($!); done
for rank in 0 1 2 3; do
  code=0
  wait "${pids[$rank]}" || code=$?
  check "rank $rank ends well: $(cat "streams/rank$rank.err")" [ "$code" -eq 0 ]
done
check "small ones: $(head -n 8 chosen.txt)" grep -qx '# - all_reduce of 4096 B: Ring, LL, 1 channel' chosen.txt
check "large ones" grep -qx '# - all_reduce of 1048576 B: Ring, Simple, 2 channels' chosen.txt
check "sends and receives" grep -qx '# - alltoall: sends and receives over 4 channels, at most 2 between two ranks' chosen.txt
check "both collectives are timed" [ "$(grep -cE '^ +[0-9]+ ' chosen.txt)" -eq 10 ]
on_two_hosts chosen.txt >chosen_on_two.txt
code=0
"$simulator" cluster calibrate --cluster toy_2x4 --measurements chosen_on_two.txt -o chosen.yaml >streams/out 2>streams/err || code=$?
check "our reader passes over it: $code $(cat streams/err)" bash -c "! grep -qE 'chosen_on_two.txt:[0-9]' streams/err"
check "nothing is left of the untimed pass: $(ls messages)" [ "$(find messages -name 'shardsim-*' | wc -l)" -eq 0 ]
code=0
"$shardsim" --collectives --device cpu --untimed -o x.txt 2>streams/err || code=$?
check "untimed has a meaning on GPUs alone: $code $(cat streams/err)" grep -q 'only with --collectives --device cuda' streams/err
code=0
"$shardsim" --collectives --device cuda --warm -o x.txt 2>streams/err || code=$?
check "warm has none for collectives: $code $(cat streams/err)" grep -q 'no effect together with --collectives' streams/err

echo "-- a rank that dies"
port=$(port) pids=()
rm -r messages
mkdir messages
# The untimed pass has 10 collectives, the timed one 140: rank 2 is killed in the middle of one of those.
for rank in 0 1 2 3; do
  if [ $rank -eq 2 ]; then export STAND_IN_DIES_AT=60; else unset STAND_IN_DIES_AT; fi
  start $rank "$port" --quick -o dead.txt
  pids+=($!)
done
unset STAND_IN_DIES_AT
for rank in 0 1 3; do
  code=0
  wait "${pids[$rank]}" || code=$?
  check "rank $rank ends with 1, not $code" [ "$code" -eq 1 ]
  check "and names who died: $(cat "streams/rank$rank.err")" grep -qE '^error: rank 2 died' "streams/rank$rank.err"
done
code=0
wait "${pids[2]}" 2>/dev/null || code=$?
check "rank 2 was killed, not $code" [ "$code" -eq 137 ]
check "... in the timed pass: $(ls messages)" [ -n "$(find messages -path '*/comm*/*')" ] && [ -z "$(find messages -name 'shardsim-*')" ]
check "no file of it" [ ! -e dead.txt ]
check "rank 0 says where its rows are: $(cat streams/rank0.err)" grep -q 'What was measured is kept in dead.txt.journal' streams/rank0.err

echo "-- the next run goes on"
check "the sizes before that were kept" [ "$(grep -c '"collective"' dead.txt.journal)" -ge 3 ]
head -n 4 dead.txt.journal >before
cp before dead.txt.journal
printf '{"collective":"all_re' >>dead.txt.journal
port=$(port) pids=()
for rank in 0 1 2 3; do start $rank "$port" --quick -o dead.txt; pids+=($!); done
for rank in 0 1 2 3; do
  code=0
  wait "${pids[$rank]}" || code=$?
  check "rank $rank ends well: $(cat "streams/rank$rank.err")" [ "$code" -eq 0 ]
done
check "all rows are there" [ "$(grep -cE '^ +[0-9]+ ' dead.txt)" -eq 10 ]
check "each once: $(cat dead.txt)" [ "$(grep -c '^#  Rank' dead.txt)" -eq 8 ]
check "those of before unchanged" [ "$(grep -cxFf <(tail -n +2 before | jq -r .text | grep -E '^ +[0-9]+ ') dead.txt)" -eq 3 ]
check "the journal is gone" [ ! -e dead.txt.journal ]
# The other one is of a whole sweep, for ranks that begin one look only after a collective of each of its sizes, up to 256 MiB.
sed '1s/quick sweep/whole sweep/' before >dead.txt.journal
cp dead.txt.journal before
check "a journal says which sweep it is of: $(head -n 1 before)" grep -q 'whole sweep' before
port=$(port) pids=()
for rank in 0 1 2 3; do start $rank "$port" --quick -o dead.txt; pids+=($!); done
for rank in 0 1 2 3; do
  code=0
  wait "${pids[$rank]}" || code=$?
  check "rank $rank ends: $code" [ "$code" -eq $((rank == 0 ? 2 : 1)) ]
  check "and says that the journal is another's: $(cat "streams/rank$rank.err")" \
    grep -q '^error: .*dead.txt.journal: .*another measurement: it says "whole sweep" where this one has "quick sweep"' "streams/rank$rank.err"
done
check "which stays" cmp -s before dead.txt.journal
port=$(port) pids=()
for rank in 0 1; do
  RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    timeout "$patience" "$shardsim" --device cpu --collectives -o whole.txt >streams/out 2>"streams/whole$rank.err" </dev/null &
  pids+=($!)
done
while kill -0 "${pids[0]}" 2>/dev/null && [ ! -s whole.txt.journal ]; do sleep 0.05; done
check "a whole sweep is one: $(cat streams/whole0.err)" grep -q '; whole sweep' whole.txt.journal
kill "${pids[@]}" 2>/dev/null || true
wait "${pids[@]}" || true

echo "-- exchanges"
jq -n '{schema: "shardsim.exchanges/1", batch: 512, ranks: 4, seed: 1, max_dim: 32, columns: ["8 4 4 16", "12 0 4 8"],
       starts_ms: ["0 60 0 0", "0 0 0 0"]}' >four.json
port=$(port) pids=() what=(--exchanges four.json --cluster toy --visits 2)
for rank in 0 1 2 3; do start $rank "$port" -o labels.json; pids+=($!); done
for rank in 0 1 2 3; do
  code=0
  wait "${pids[$rank]}" || code=$?
  check "rank $rank ends well: $(cat "streams/rank$rank.err")" [ "$code" -eq 0 ]
done
check "labels of NCCL on a cluster of two nodes" [ "$(jq -r '.provider + ", " + .topology' labels.json)" = "cuda, toy of 2 nodes" ]
check "of each rank in both directions" jq -e '[.forward_us, .backward_us | .[] | split(" ") | map(tonumber) | length == 4 and all(. > 0)] | all' labels.json
check "who starts early waits for the last: $(jq -c .forward_us labels.json)" jq -e \
  '.forward_us[0] | split(" ") | map(tonumber) | [.[0, 2, 3] - .[1]] | all(. > 30000)' labels.json
check "the exchanges stay as they were" jq -e --slurpfile drawn four.json '.columns == $drawn[0].columns and .starts_ms == $drawn[0].starts_ms' labels.json
check "the journal is gone" [ ! -e labels.json.journal ]
finish 55
