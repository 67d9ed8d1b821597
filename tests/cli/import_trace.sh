#!/usr/bin/env bash
# A trace of training steps becomes a scenario that predicts its own step; what is no such trace is refused with its place.
# Usage: import_trace.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
traces=$source/scenarios/measurements/pytorch/h100/traces

echo "-- real traces, compressed"
for trace in dot128_tf32_b4096 dcn64_tf32_b16384 cat60_bf16_b4096 seq100_tf32_b1024; do
  run import "$traces/$trace.json.gz" --batch 4096 -o "$trace"
  check "$trace is taken: $(cat streams/err)" [ "$code" -eq 0 ]
  check "$trace: the device names the cluster" grep -q 'base: "dgx_h100"' "$trace/scenario.yaml"
  run run "$trace/scenario.yaml" -q --json -o "$trace.run"
  check "$trace runs: $(cat streams/err)" [ "$code" -eq 0 ]
  # The median step, from its start to that of the next one, by another program.
  zcat "$traces/$trace.json.gz" | jq -s '.[0].traceEvents | map(select(.ph == "X" and .cat == "user_annotation" and (.name | startswith("ProfilerStep")))
    | {ts, dur}) | sort_by(.ts) | . as $s | [range(length) | if . + 1 < ($s | length) then $s[. + 1].ts - $s[.].ts else $s[.].dur end]
    | sort | .[(length - 1) / 2 | floor] / 1000' >step_ms
  check "$trace predicts its own step, $(cat step_ms) ms" \
    jq -e --argjson ms "$(cat step_ms)" '(.cases[0].iteration_ms / $ms - 1 | fabs) < 0.02' "$trace.run/result.json"
done
run import "$traces/dot128_tf32_b4096.json.gz" --tables "$source/scenarios/imports/tables.csv" --batch 4096 -o with_tables
check "tables are taken beside a trace: $(cat streams/err)" [ "$code" -eq 0 ]
check "all of them are there" grep -q user_id with_tables/workload.yaml

echo "-- as the dense part of a workload"
cat >workload.yaml <<EOF
schema: shardsim.workload/1
name: traced
batch_per_gpu: 4096
tables: [{name: t, rows: 1000000, dim: 64, kind: pooled, pooling_factor: 1, access: {family: uniform}}]
dense: {trace: "$traces/dot128_tf32_b4096.json.gz"}
EOF
printf 'schema: shardsim.scenario/1\ntitle: traced\ncluster: {base: dgx_h100, nodes: 1, gpu: {count: 1}}\nworkload: workload.yaml\nplanner: {name: row_wise}\n' >traced.yaml
run run traced.yaml -q --json -o traced_run
check "dense: {trace: FILE} is taken: $(cat streams/err)" [ "$code" -eq 0 ]
check "... and is the traced step" \
  jq -e --argjson ms "$(jq '.cases[0].iteration_ms' dot128_tf32_b4096.run/result.json)" '(.cases[0].iteration_ms / $ms - 1 | fabs) < 0.001' traced_run/result.json
sed -i 's/dense: {/dense: {precision: tf32, /' workload.yaml
refuse 2 "both 'trace' and 'precision'" check traced.yaml

echo "-- why of a trace"
run why --trace "$traces/dot128_tf32_b4096.json.gz" --json
check "explains the step: $(cat streams/err)" jq -e '(.step_ms - ([.parts[] | .kernels_ms + .exchanges_ms + .copies_ms + .waiting_ms] | add) | fabs) < 0.001' streams/out
run why --trace "$traces/dot128_tf32_b4096.json.gz"
check "and says what would help: $(cat streams/err)" grep -q "the host is never late" streams/out
refuse 2 "there is a scenario, too" why --trace "$traces/dot128_tf32_b4096.json.gz" traced.yaml
refuse 2 "nothing is named" why

echo "-- compare reads gzip, and copies and updates are what they are"
run run dot128_tf32_b4096/scenario.yaml -q -o for_compare
run compare for_compare/timeline.h5 --observed-kineto "$traces/dot64_fp32_b4096.json.gz" --json
check "updates of EmbeddingBag are found: $(cat streams/err)" grep -q '"update"' streams/out

echo "-- what is no trace of training"
refused() {  # WHAT PATTERN FILE
  echo "$1"
  refuse 2 "$2" import "$3" -o refused
}
zcat "$traces/dot64_fp32_b1024.json.gz" >whole.json
change() { jq -c "$1" whole.json >"$2"; }
change '.traceEvents |= map(select(.cat != "kernel" and .cat != "gpu_memcpy" and .cat != "gpu_memset"))' no_kernels.json
refused "no kernels" "no GPU kernel" no_kernels.json
change '.traceEvents |= map(select((.name // "") | startswith("ProfilerStep") | not))' no_steps.json
refused "no steps" "no step is marked" no_steps.json
change '.traceEvents |= map(select(((.name // "") | startswith("ProfilerStep")) and (((.name // "") | endswith("#3")) | not) | not))' one_step.json
refused "one step" "only one step" one_step.json
change '.traceEvents |= map(if .cat == "kernel" and (.ts | floor) % 2 == 0 then .pid = 1 else . end)' two_devices.json
refused "two devices" "2 devices or processes" two_devices.json
change '.traceEvents |= map(if (.args.correlation? // null) != null and .cat == "cuda_runtime" then del(.args.correlation) else . end)' no_launches.json
refused "no correlations" "have no launch" no_launches.json
change '.traceEvents |= map(if ((.name // "") == "ProfilerStep#3") then .ts -= 3000 else . end)' clock_jump.json
refused "a clock that jumps" "overlap" clock_jump.json
change '.traceEvents |= map(select(((.name // "") | test("autograd::engine|backward|index_add_|Backward")) | not))' inference.json
refused "inference" "inference" inference.json
change '.deviceProperties[0].name = "AMD Instinct MI250X"' rocm.json
refused "ROCm" "ROCm" rocm.json
change '.deviceProperties[0].name = "Some GPU"' unknown_gpu.json
refused "an unknown GPU" "Name a cluster with --cluster" unknown_gpu.json
head -c 300000 whole.json >cut.json
refused "a trace that is cut off" "cut off; .* were read before" cut.json
head -c 20000 "$traces/dot64_fp32_b1024.json.gz" >cut.json.gz
refused "a compressed trace that is cut off" "is cut off" cut.json.gz
finish 24
