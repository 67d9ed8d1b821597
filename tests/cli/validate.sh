#!/usr/bin/env bash
# shardsim-validate on CPU ranks: what it writes, what it refuses, that the data of the distributed run is right, and
# what happens when a rank dies, never starts, or cannot write. Usage: validate.sh SHARDSIM VALIDATE SOURCE_DIR
set -euo pipefail
simulator=$(realpath "$1") validate=$(realpath "$2") source=$(realpath "$3")
shardsim=$validate
. "$source/tests/cli/lib.sh"

toy=$source/scenarios/toy.yaml
cases='row_wise flexshard_2tier flexshard_3tier'
for name in $cases; do "$simulator" lower "$toy" --case "$name" -o "$name.json" >/dev/null; done

echo "-- what it writes"
run flexshard_3tier.json --warmup 1 --iterations 3 -o seen.h5
check "a run of 8 ranks in one process: $(cat streams/err)" [ "$code" -eq 0 ]
check "it says how long an iteration took" grep -qE '^iteration: [0-9.]+ ms, median of 3$' streams/out
check "it names the collectives" grep -q '^global_all_to_all' streams/out
run flexshard_3tier.json --warmup 1 --iterations 3 -o seen.timeline.json
check "JSON by its ending: $(cat streams/err)" [ "$code" -eq 0 ]
check "it is complete" jq -e '.complete == true and .kind == "observed" and .world_size == 8' seen.timeline.json
check "three iterations of every operation on every rank" jq -e '(.ops | length) as $ops | (.spans.op | length) == 3 * 8 * $ops' seen.timeline.json
check "where it ran" jq -e '.measured.transport == "sockets" and (.measured.hosts | length) == 2' seen.timeline.json
run row_wise.json --warmup 0 --iterations 2 -o traced.h5 --trace traces
check "a Kineto trace per rank: $(cat streams/err)" [ "$(grep -lE '"rank": [0-7]' traces/rank?.json | wc -l)" -eq 8 ]
code=0
"$simulator" compare traced.h5 --observed-kineto traces >streams/out 2>streams/err || code=$?
check "the traces say what the Timeline says: $(cat streams/err)" [ "$code" -eq 0 ]
run "$toy" --case row_wise --warmup 0 --iterations 1 -o scenario.h5
check "a case of a scenario: $(cat streams/err)" [ "$code" -eq 0 ]
code=0
"$simulator" compare seen.h5 seen.timeline.json >streams/out 2>streams/err || code=$?
check "both forms can be compared: $(cat streams/err)" [ "$code" -eq 0 ]

echo "-- the data"
for name in $cases; do
  run "$name.json" --check-data --iterations 9
  check "$name equals a single process bit for bit: $(cat streams/err)" [ "$code" -eq 0 ]
  check "$name says so" grep -q '^data equals a single process bit for bit after 9 iterations$' streams/out
done

# Pooled tables of different widths, one with weights and mean pooling, and a sequence.
cat >pooled_workload.yaml <<'END'
schema: shardsim.workload/1
name: pooled
batch_per_gpu: 24
tables:
  - {name: a, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3, access: {family: zipf, s: 1}}
  - {name: b, rows: 601, dim: 96, kind: pooled, features: [{name: b1, pooling_factor: 2}, {name: b2, pooling_factor: 0.5}], access: {family: zipf, s: 0.8}}
  - {name: c, rows: 400, dim: 32, kind: pooled, pooling: mean, features: [{name: c1, pooling_factor: 4, weighted: true}], access: {family: zipf, s: 1}}
  - {name: history, rows: 800, dim: 64, kind: sequence, average_length: 5, access: {family: zipf, s: 1}}
END
# The plan of the four tables: table_row_wise, grid_shard, row_wise and column_wise in one.
jq -n '
  def shard($row; $column; $rows; $columns; $rank): {shard_offsets: [$row, $column], shard_sizes: [$rows, $columns], placement: "rank:\($rank)/cuda:\($rank % 4)"};
  def table($type; $shards): {sharding_type: $type, compute_kernel: "fused", ranks: [$shards[].placement | capture("rank:(?<r>[0-9]+)").r | tonumber], shards: $shards};
  {schema: "shardsim.plan/1", plan: {
    ebc: {
      a: table("table_row_wise"; [range(4) | shard(. * 250; 0; 250; 64; . + 4)]),
      b: table("grid_shard"; [range(4) | shard(. * 151; 0; (if . == 3 then 148 else 151 end); 48; .)] + [range(4) | shard(. * 151; 48; (if . == 3 then 148 else 151 end); 48; . + 4)]),
      c: table("row_wise"; [range(8) | shard(. * 50; 0; 50; 32; .)])},
    ec: {history: table("column_wise"; [shard(0; 0; 800; 32; 1), shard(0; 32; 800; 32; 6)])}}}' >pooled_plan.json
cat >pooled.yaml <<END
schema: shardsim.scenario/1
title: Pooled tables on 2 nodes of 4
cluster: toy_2x4
workload: pooled_workload.yaml
planner: {name: row_wise}
cases:
  - {name: row_wise, set: {workload.pipeline: sparse_dist}}
  - {name: flex, planner: {name: flex}}
  - {name: table_wise, planner: {name: table_wise}}
  - {name: data_parallel, planner: {name: data_parallel}}
  - {name: by_plan, plan: {file: pooled_plan.json}, set: {workload.pipeline: prefetch_sparse_dist}}
END
for name in row_wise flex table_wise data_parallel by_plan; do
  run pooled.yaml --case $name --check-data --iterations 9
  check "pooled $name equals a single process bit for bit: $(cat streams/err)" [ "$code" -eq 0 ]
  check "pooled $name says so" grep -q '^data equals a single process bit for bit after 9 iterations$' streams/out
done
"$simulator" lower pooled.yaml --case row_wise -o pooled.json >/dev/null
run pooled.json --warmup 1 --iterations 2 -o pooled.timeline.json
check "a pooled program is executed and measured: $(cat streams/err)" jq -e '.complete and ([.ops[].name] | index("global_reduce_scatter"))' pooled.timeline.json

jq '(.ops[] | select(.class == "update") | .optimizer) = "adagrad"' pooled.json >adagrad.json
run adagrad.json --warmup 0 --iterations 2 -o adagrad.timeline.json
check "element-wise Adagrad, as DLRM-DCNv2 has it: $(cat streams/err)" [ "$code" -eq 0 ]

echo "-- codecs, sharding groups, lookups ahead"
"$simulator" lower pooled.yaml --case table_wise --set 'workload.wire_dtype={forward: fp8, backward: bf16, kernels: true}' -o coded.json >/dev/null
run coded.json --check-data --iterations 3
check "behind codecs the data is right: $(cat streams/err)" [ "$code" -eq 0 ]
check "... within their rounding, and it says so" grep -q '^data equals a single process within the rounding of its codecs after 3 iterations$' streams/out
"$simulator" lower pooled.yaml --case table_wise --set 'workload.sharding_groups={size: 4}' --set workload.pipeline=semi_sync --set 'workload.dense={layers: [{name: top, in: 64, out: 8}]}' -o groups.json >/dev/null
run groups.json --check-data --iterations 3
check "two groups of four, looked up ahead, equal a single process bit for bit: $(cat streams/err)" [ "$code" -eq 0 ]
"$simulator" lower pooled.yaml --case table_wise --set 'workload.wire_dtype={forward: fp8, quantize_dim: 32, kernels: true}' -o scales.json >/dev/null
"$simulator" lower pooled.yaml --case table_wise --set 'workload.wire_dtype={forward: fp8, backward: bf16, kernels: true}' --set workload.pipeline=semi_sync --set 'workload.dense={layers: [{name: top, in: 64, out: 8}]}' -o late.json >/dev/null
refuse 2 'late.json: operation .*lookup_.*come out of their codec an iteration later, and are not compared' late.json --check-data --iterations 3
refuse 2 'scales.json: operation .*all_to_all.*: it sends scales beside its vectors.*quantize_dim' scales.json -o x.h5

echo "-- bad input"
refuse 2 'arguments: an argument is missing' -o x.h5
refuse 2 'nothing.json' nothing.json -o x.h5
refuse 2 'argument --output: is missing.*-o observed.h5' row_wise.json
refuse 2 'argument --output: .*ends neither' row_wise.json -o x.txt
refuse 2 'argument --iterations: "0" is not a whole number' row_wise.json -o x.h5 --iterations 0
refuse 2 'argument --iterations: "-3"' row_wise.json -o x.h5 --iterations=-3
refuse 2 'argument --warmup: "2.5"' row_wise.json -o x.h5 --warmup 2.5
refuse 2 'argument --port: "70000"' row_wise.json -o x.h5 --port 70000
refuse 2 'argument --priority: the streams of a CPU rank' row_wise.json -o x.h5 --priority
for option in "--threads 2" "--longest-operation 9"; do
  refuse 2 "argument ${option% *}: the option concerns CPU ranks|has no CUDA part" row_wise.json -o x.h5 --device cuda $option
done
refuse 2 'argument --output: "row_wise.json" is the file that is read' row_wise.json -o row_wise.json --force
refuse 2 "argument --output: the option has no effect together with --check-data" row_wise.json -o x.h5 --check-data
refuse 2 "argument --trace: the option has no effect together with --check-data" row_wise.json --trace traces --check-data
refuse 2 'argument --join-limit: "0"' row_wise.json -o x.h5 --join-limit 0
refuse 2 'argument --device: unknown device "gpu"' row_wise.json -o x.h5 --device gpu
refuse 2 'argument --transport: "nccl" cannot be used with --device cpu' row_wise.json -o x.h5 --device cpu --transport nccl
refuse 2 'argument --case: a program file holds only one case' row_wise.json -o x.h5 --case row_wise
refuse 2 'argument --case: the scenario has several cases' "$toy" -o x.h5
refuse 2 'unknown option.*--iterations' row_wise.json -o x.h5 --iteration 3
head -c 700 row_wise.json >cut.json
refuse 2 'cut.json:' cut.json -o x.h5
jq '(first(.ops[] | select(.matrix)) | .matrix) = "nowhere"' row_wise.json >bad.json
refuse 2 'bad.json:.*nowhere' bad.json -o x.h5
jq '(.ops[] | select(.pooled) | .bags) = 5' pooled.json >bags.json
refuse 2 'bags.json: operation .*lookup_row_wise.*5 bags.*num_poolings' bags.json -o x.h5
jq '(.ops[] | select(.class == "reduce_scatter") | .bytes) = 8' pooled.json >few.json
refuse 2 'few.json: operation .*lookup_row_wise.*global_reduce_scatter.* 8 bytes' few.json -o x.h5
for change in '.ops[15].bytes = 3' '.ops[13].bytes = 0' '.shards[0].rows = [0, 9]' '.shards[0].rows = [0, 7]' \
  '.shards[0].columns = [0, 32]' '.ops[5].lookups = 1' '.ops[2].ranks = "0-3"' '.scenario = 5'; do
  jq "$change" flexshard_3tier.json >contradicts.json
  refuse 2 'contradicts.json:[0-9]+:[0-9]+: (operation|shard|the shards of|scenario)' contradicts.json -o x.h5
  refuse 2 'contradicts.json:[0-9]+:[0-9]+: (operation|shard|the shards of|scenario)' contradicts.json --check-data --iterations 1
done
jq '(.ops[] | select(.class == "all_reduce") | .dtype) = "bf16"' flexshard_3tier.json >narrow.json
refuse 2 'rank [0-9] failed: narrow.json: operation ' narrow.json --check-data --iterations 1
jq '(.ops[] | select(.class == "update") | .optimizer) = "lamb"' row_wise.json >lamb.json
refuse 2 'lamb.*sgd, rowwise_adagrad' lamb.json -o x.h5
jq 'first(.ops[] | select(.class == "dense")) |= (del(.fixed_ns) | .flops = 4.5e15)' row_wise.json >days.json
refuse 2 'days.json: operation ".*" of 4.5 PFLOP takes a rank about .* or more in every iteration, and 60 seconds are the most.*--longest-operation' days.json -o x.h5
jq 'first(.ops[] | select(.name == "tier_merge")).hbm_bytes = 1e14' flexshard_3tier.json >moved.json
refuse 2 'moved.json: operation "tier_merge" of 100 TB takes a rank about .* or more in every iteration.*--longest-operation' moved.json -o x.h5
refuse 2 'argument --longest-operation: "0"' row_wise.json -o x.h5 --longest-operation 0
refuse 2 'argument --trace: the value is empty' row_wise.json -o x.h5 --trace ''
refuse 2 'argument --output: the value is empty' row_wise.json -o ''
refuse 2 'argument --secret-file: the value is empty' row_wise.json -o x.h5 --secret-file=
refuse 2 'argument --threads: "20000" is not a whole number from 1 to ' row_wise.json -o x.h5 --threads 20000
"$simulator" lower "$toy" --case row_wise --set cluster.nodes=128 -o many.json >/dev/null
refuse 2 'many.json: this process would run 512 ranks, and 256 are the most.*torchrun' many.json -o x.h5
jq '(.ops[] | select(.class == "update") | .optimizer) = "nope"' row_wise.json >nope.json
refuse 2 'nope.json:[0-9]+:[0-9]+: operation .*unknown optimizer "nope".*rowwise_adagrad' nope.json -o x.h5
jq 'first(.ops[] | select(.class == "lookup")).hbm_bytes = 1e300' row_wise.json >huge.json
refuse 2 'huge.json:[0-9]+:[0-9]+: operation .*hbm_bytes is 1e\+300.*at most' huge.json -o x.h5
# A file that cannot be written is refused before the run, which would take hours.
echo 'my notes' >blocked
refuse 1 'blocked: cannot write it' row_wise.json -o x.h5 --trace blocked --iterations 1000000
refuse 1 '/proc/x.h5: cannot write it' row_wise.json -o /proc/x.h5 --iterations 1000000
refuse 1 '/proc/self/rank0.json: cannot write it' row_wise.json -o x.h5 --trace /proc/self --iterations 1000000
echo 'my notes' >notes.json
refuse 2 "notes.json: the file exists, and .shardsim-validate. is not known to have written it" row_wise.json -o notes.json
refuse 1 'notes.json/x.h5|notes.json' row_wise.json -o notes.json/x.h5
RANK=8 WORLD_SIZE=8 refuse 2 'RANK' row_wise.json -o x.h5
RANK=0 WORLD_SIZE=3 refuse 2 'environment of torchrun: 3 processes for a program of 8 ranks' row_wise.json -o x.h5

# start RANK WORLD PORT ARGUMENT...: one rank as a launcher starts it, in the background; its streams in rank<N>.*
start() {
  local rank=$1 world=$2 port=$3
  shift 3
  RANK=$rank WORLD_SIZE=$world LOCAL_RANK=$((rank % (world / 2))) LOCAL_WORLD_SIZE=$((world / 2)) MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    timeout "$patience" "$validate" "$@" >"streams/rank$rank.out" 2>"streams/rank$rank.err" </dev/null &
}
# A port that is free now.
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

echo "-- a process that may do little"
# allowed LIMIT NUMBER: ranks in one process, which has only so much; its exit code in $code. A limit holds for a shell and what it starts.
allowed() {
  code=0
  (
    ulimit "$1" "$2"
    exec timeout "$patience" "$validate" row_wise.json --warmup 0 --iterations 1 -o few.h5
  ) >streams/out 2>streams/err </dev/null || code=$?
}
# ends_well_or PATTERN: with 1 and one line that says the cause, or well where the limit is no hindrance.
ends_well_or() {
  [ "$code" -eq 0 ] || { [ "$code" -eq 1 ] && [ "$(wc -l <streams/err)" -eq 1 ] && grep -qE "^error: $1" streams/err; }
}
for number in 12 64; do
  from=$SECONDS
  allowed -n $number
  check "with $number descriptors it says so: $code, $(cat streams/err)" [ "$code" -eq 1 ]
  check "in one line: $(cat streams/err)" grep -qE "^error: .*need [0-9]+ file descriptors.*$number are allowed.*ulimit -n" streams/err
  check "at once" [ $((SECONDS - from)) -le 10 ]
done
allowed -Sn 64
check "a limit that may be raised is raised: $code, $(cat streams/err)" [ "$code" -eq 0 ]
# Libraries of CUDA take more than a gigabyte of addresses before the program begins.
begins() ( ulimit -v "$1" && "$validate" --version >/dev/null 2>&1 )
for number in 150000 300000 1000000 2000000; do
  begins $number || continue
  from=$SECONDS
  allowed -v $number
  check "with $number KiB it says so: $code, $(cat streams/err)" ends_well_or '.*(out of memory|thread cannot be started|cannot read it: Cannot allocate memory)'
  check "$number KiB: soon" [ $((SECONDS - from)) -le 20 ]
done

echo "-- a launcher's ranks"
port=$(port) pids=
for rank in 0 1 2 3 4 5 6 7; do start $rank 8 "$port" row_wise.json --warmup 1 --iterations 2 -o launched.h5; pids+=" $!"; done
ends $pids
check "eight processes end well:$codes $(cat streams/rank*.err)" [ "$codes" = ' 0 0 0 0 0 0 0 0' ]
check "rank 0 alone speaks" [ -s streams/rank0.out ] && [ ! -s streams/rank3.out ]
# torchrun's agent listens at MASTER_PORT, on all addresses of IPv6 and IPv4; the ranks meet beside it.
python3 -c 'import socket, time
s = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) if socket.has_dualstack_ipv6() else socket.create_server(("", 0))
print(s.getsockname()[1], flush=True); time.sleep(600)' >agent &
holder=$!
until_true test -s agent
for store in True False; do
  pids=
  for rank in 0 1; do
    TORCHELASTIC_RUN_ID=none TORCHELASTIC_USE_AGENT_STORE=$store start $rank 2 "$(cat agent)" row_wise.json --warmup 1 --iterations 2 -o nodes.h5
    pids+=" $!"
  done
  ends $pids
  check "beside torchrun's agent, its store shared: $store:$codes $(cat streams/rank[01].err)" [ "$codes" = ' 0 0' ]
done
kill $holder
port=$(port) pids=
for rank in 0 1; do start $rank 2 "$port" row_wise.json --warmup 1 --iterations 2 -o nodes.h5; pids+=" $!"; done
ends $pids
check "one process per node, four ranks each:$codes $(cat streams/rank[01].err)" [ "$codes" = ' 0 0' ]

port=$(port) pids=
for rank in 0 1 2 3 4 5 6 7; do
  count=3 && [ $rank != 6 ] || count=30
  start $rank 8 "$port" row_wise.json --warmup 1 --iterations $count -o counts.h5
  pids+=" $!"
done
ends $pids
check "ranks with other counts are refused by all:$codes" [ "$codes" = ' 2 2 2 2 2 2 2 2' ]
check "the rank and the option are named: $(cat streams/rank0.err)" grep -q 'rank 6 has --iterations 30, rank 0 --iterations 3' streams/rank0.err
port=$(port) pids=
for rank in 0 1 2 3 4 5 6 7; do
  program=row_wise.json && [ $rank != 7 ] || program=flexshard_3tier.json
  start $rank 8 "$port" $program --warmup 1 --iterations 3 -o programs.h5
  pids+=" $!"
done
ends $pids
check "a rank with another program is refused by all:$codes" [ "$codes" = ' 2 2 2 2 2 2 2 2' ]
check "it is named: $(cat streams/rank0.err)" grep -q 'rank 7 has another program than rank 0' streams/rank0.err

echo "-- a rank dies in the middle"
# threads PID COUNT: it has at least so many.
threads() { [ "$(ls "/proc/$1/task" | wc -l)" -ge "$2" ]; }
# Sets $rank_process to the process that `timeout` watches.
find_rank() { rank_process=$(pgrep -P "$1"); }
# kill_one VICTIM FILE: eight ranks, endless; the victim is killed once they run.
kill_one() {
  local victim=$1 file=$2
  port=$(port) pids=()
  for rank in 0 1 2 3 4 5 6 7; do
    start $rank 8 "$port" flexshard_3tier.json --warmup 0 --iterations 100000 -o "$file"
    pids+=($!)
  done
  # Until the victim's streams are threads: then all ranks are there and iterate.
  until_true find_rank "${pids[$victim]}"
  until_true threads "$rank_process" 5
  works "$rank_process" 10
  kill -KILL "$rank_process" || true
  survivors=()
  for rank in 0 1 2 3 4 5 6 7; do [ $rank = "$victim" ] || survivors+=("${pids[$rank]}"); done
  ends "${survivors[@]}"
  wait "${pids[$victim]}" 2>/dev/null || true
  check "killing rank $victim ends all others with 1:$codes" [ "$codes" = ' 1 1 1 1 1 1 1' ]
  check "within 10 s: $took" [ "$took" -le 10 ]
  for rank in 0 1 2 3 4 5 6 7; do
    [ $rank = "$victim" ] || check "rank $rank names it in one line: $(cat "streams/rank$rank.err")" \
      grep -qE "^error: .*rank $victim .*died" "streams/rank$rank.err"
  done
}
kill_one 5 killed.timeline.json
check "what was measured is on disk" [ -s killed.timeline.json ]
check "and marked incomplete" jq -e '.complete == false and (.spans.op | length) > 0' killed.timeline.json
kill_one 0 headless.timeline.json
for rank in 1 2 3 4 5 6 7; do
  check "without rank 0 rank $rank writes what it has, marked incomplete" jq -e '.complete == false' "headless.timeline.rank$rank.json"
done
check "and nobody writes for all" [ ! -e headless.timeline.json ]

echo "-- told to stop"
env --default-signal=INT,TERM "$validate" row_wise.json --warmup 0 --iterations 1000000 -o stopped.timeline.json >streams/out 2>streams/err </dev/null &
pid=$!
until_true threads $pid 40
works $pid 50
kill -INT $pid
ends $pid
check "Ctrl-C ends with 130:$codes, $(cat streams/err)" [ "$codes" = ' 130' ]
check "one line says so: $(cat streams/err)" [ "$(grep -c '^error: stopped' streams/err)" -eq 1 ]
check "what was measured is on disk, marked incomplete" jq -e '.complete == false and (.spans.op | length) > 0' stopped.timeline.json

# An incomplete result does not replace a complete one; the file of the run before is complete here.
run_whole() { "$validate" row_wise.json --warmup 0 --iterations 2 -o whole.timeline.json --trace whole >streams/out 2>streams/err </dev/null; }
run_whole || fail "$(cat streams/err)"
before=$(cksum whole.timeline.json whole/*)
env --default-signal=INT,TERM "$validate" row_wise.json --warmup 0 --iterations 1000000 -o whole.timeline.json --trace whole >streams/out 2>streams/err </dev/null &
pid=$!
until_true threads $pid 40
works $pid 50
kill -INT $pid
ends $pid
check "a stopped run leaves the file of a whole one as it was:$codes" [ "$before" = "$(cksum whole.timeline.json whole/*)" ]
check "and says where its own is: $(cat streams/err)" \
  grep -qx 'error: stopped; what was measured so far is in whole.timeline.incomplete.json, marked as incomplete; whole.timeline.json is as it was.' streams/err
check "which is marked" jq -e '.complete == false and (.spans.op | length) > 0' whole.timeline.incomplete.json
check "and so are its traces" [ -s whole.incomplete/rank0.json ]
run_whole || fail "$(cat streams/err)"
check "a whole one takes its place" [ "$before" != "$(cksum whole.timeline.json whole/*)" ]

# stops_soon PROGRAM HUNDREDTHS: told so in the middle of an operation that takes long, after so much work.
stops_soon() {
  env --default-signal=INT,TERM "$validate" "$1" --warmup 0 --iterations 1000 --longest-operation 10000 -o long.timeline.json >streams/out 2>streams/err </dev/null &
  pid=$!
  until_true threads $pid 40
  works $pid "$2"
  kill -INT $pid
  ends $pid
  check "$1: Ctrl-C ends with 130:$codes, $(cat streams/err)" [ "$codes" = ' 130' ]
  check "$1: soon, not after $took s" [ "$took" -le 2 ]
  check "$1: one line says so: $(cat streams/err)" [ "$(grep -c '^error: stopped' streams/err)" -eq 1 ]
}
jq 'first(.ops[] | select(.class == "dense")) |= (.fixed_ns = 30e9)' row_wise.json >sleeps.json
stops_soon sleeps.json 5
jq 'first(.ops[] | select(.class == "dense")) |= (del(.fixed_ns) | .ranks = "0" | .flops = 1.4e11 | .products = [{m: 4096, n: 4096, k: 4096}])' \
  row_wise.json >works.json
stops_soon works.json 300

# Before the ranks have met nothing is lost.
port=$(port)
env --default-signal=INT,TERM RANK=0 WORLD_SIZE=8 LOCAL_RANK=0 LOCAL_WORLD_SIZE=8 MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" \
  "$validate" row_wise.json -o waits.h5 >streams/out 2>streams/err </dev/null &
pid=$!
listens() { ls -l "/proc/$pid/fd" | grep socket >/dev/null; }
until_true listens
kill -INT $pid
ends $pid
check "a rank that waits for others ends with 130:$codes, $(cat streams/err)" [ "$codes" = ' 130' ]
check "at once, not after $took s" [ "$took" -le 2 ]
check "and leaves nothing" [ ! -e waits.h5 ]

echo "-- a rank never starts"
port=$(port) pids=
for rank in 0 1 2 4 5 6 7; do start $rank 8 "$port" row_wise.json -o never.h5 --join-limit 4; pids+=" $!"; done
# meets PID: the rank that this `timeout` watches has a socket, or has ended: its program is read, and it waits for the others.
meets() {
  local rank
  [ -d "/proc/$1" ] || return 0
  rank=$(pgrep -P "$1") && ls -l "/proc/$rank/fd" | grep socket >/dev/null
}
for each in $pids; do until_true meets "$each"; done
ends $pids
check "the others end with 1:$codes" [ "$codes" = ' 1 1 1 1 1 1 1' ]
check "within 10 s: $took" [ "$took" -le 10 ]
for rank in 0 1 2 4 5 6 7; do check "rank $rank names it: $(cat "streams/rank$rank.err")" grep -qE '^error: .*rank 3' "streams/rank$rank.err"; done
check "no file" [ ! -e never.h5 ]

echo "-- the port is in use"
python3 -c 'import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(600)' >taken &
holder=$!
until_true test -s taken
start 0 8 "$(cat taken)" row_wise.json -o port.h5
ends $!
check "the port is named, and what to do: $(cat streams/rank0.err)" grep -qE "^error: .*$(cat taken).*MASTER_PORT" streams/rank0.err
check "exit 1:$codes" [ "$codes" = ' 1' ]
start 3 8 "$(cat taken)" row_wise.json -o port.h5 --join-limit 4
ends $!
check "a rank that meets a stranger there says so within 10 s ($took): $(cat streams/rank3.err)" grep -qE "^error: " streams/rank3.err
check "exit 1 there too:$codes" [ "$codes" = ' 1' ]
kill $holder
check "no file of it" [ ! -e port.h5 ]

echo "-- the disk is full"
# A file size limit stops the write as a full disk does.
full() (
  ulimit -f 4
  code=0
  "$validate" row_wise.json --warmup 0 --iterations 3 -o "$1" >streams/out 2>streams/err </dev/null || code=$?
  [ "$code" -eq 1 ]
)
for file in full/seen.h5 full/seen.timeline.json; do
  check "$file: exit 1: $(cat streams/err)" full $file
  check "one line names it: $(cat streams/err)" grep -qE '^error: .*full/seen' streams/err
  check "nothing is left of it" [ -z "$(find full -type f 2>/dev/null)" ]
done

# Somewhere else there is room: what took hours is kept.
mkdir spare
TMPDIR=$PWD/spare "$validate" row_wise.json --warmup 0 --iterations 600 -o kept/seen.timeline.json >streams/out 2>streams/err </dev/null &
pid=$!
until_true threads $pid 40
mkdir -p kept/seen.timeline.json
ends $pid
check "an output that cannot be written at the end is exit 1:$codes" [ "$codes" = ' 1' ]
file=$(echo spare/shardsim-kept-*/seen.timeline.json)
check "one line says where all is: $(cat streams/err)" grep -qE "^error: .*kept/seen.timeline.json: cannot write it.* What was measured is kept in .*/$file: move it" streams/err
check "whole: $file" jq -e '.complete and (.spans.op | length) > 0' "$file"
if [ "$(id -u)" -ne 0 ]; then
  mkdir shut && chmod 500 shut
  refuse 1 'shut' row_wise.json -o shut/x.h5
fi
check "no process is left" [ -z "$(pgrep -f "$work/" || true)" ]
finish 60
