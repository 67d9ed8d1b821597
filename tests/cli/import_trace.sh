#!/usr/bin/env bash
# A trace of training steps becomes a scenario that predicts its own step; what is no such trace is refused with its place.
# Usage: import_trace.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
traces=$source/scenarios/measurements/pytorch/h100/traces

echo "-- real traces, compressed: scripts/trace_tables.py has the figures of all of them"
for trace in dot128_tf32_b4096 cat60_bf16_b4096; do
  run import "$traces/$trace.json.gz" -o "$trace"
  check "$trace is taken: $(cat streams/err)" [ "$code" -eq 0 ]
  check "$trace: the device names the cluster" grep -q 'base: "dgx_h100"' "$trace/scenario.yaml"
  check "$trace: the shapes say the batch" grep -q 'batch_per_gpu: 4096' "$trace/workload.yaml"
  run run "$trace/scenario.yaml" -q --json -o "$trace.run"
  check "$trace runs: $(cat streams/err)" [ "$code" -eq 0 ]
done

echo "-- tables beside a trace: lookups and updates are simulated"
cat >tables.csv <<'EOF'
name,rows,dim,pooling_factor
a,10000000,128,1
b,1000000,128,1
EOF
run import "$traces/dot128_tf32_b4096.json.gz" --tables tables.csv -o with_tables
check "tables are taken beside a trace: $(cat streams/err)" [ "$code" -eq 0 ]
check "all of them are there" grep -q '"b"' with_tables/workload.yaml
check "their lookups are simulated" grep -q 'embeddings: simulated' with_tables/workload.yaml
check "how far their lookups are from the traced ones is said" grep -q 'looks up .* rows, and the traced one' streams/err
printf 'name,rows,dim,pooling_factor\na,1000,16,1\n' >few.csv
refuse 2 "few.csv: its tables hold 1.6e.04 numbers" import "$traces/dot128_tf32_b4096.json.gz" --tables few.csv -o refused
run import "$traces/dot128_tf32_b4096.json.gz" --tables-of-trace rank -o of_trace
check "... or those of the shapes: $(cat streams/err)" grep -q 'The tables are those of the shapes' streams/err
check "which have 26 tables" [ "$(grep -c 'name: "call' of_trace/workload.yaml)" = 26 ]
run run of_trace/scenario.yaml -q --json -o of_trace.run
check "they run: $(cat streams/err)" [ "$code" -eq 0 ]
refuse 2 "no effect together with --tables" import "$traces/dot128_tf32_b4096.json.gz" --tables tables.csv --tables-of-trace rank -o refused

echo "-- another batch"
small=$traces/dot128_tf32_b4096.json.gz large=$traces/dot128_tf32_b65536.json.gz
refuse 2 "a batch of 4,096 samples per GPU, and the scenario is to have 8,192.*--scale-dense" import "$small" --batch 8192 -o refused
refuse 2 "measured with a batch of 4096 per GPU, and batch_per_gpu is 8192" run dot128_tf32_b4096/scenario.yaml --set workload.batch_per_gpu=8192
run import "$small" "$large" --batch 16384 -o line
check "two batches give a line: $(cat streams/err)" [ "$code" -eq 0 ]
for batch in 4096 16384 65536; do run run line/scenario.yaml --set workload.batch_per_gpu=$batch -q --json -o "line$batch"; done
ms() { jq '.cases[0].iteration_ms' "$1/result.json"; }
check "which gives more time to more samples: $(ms line4096) $(ms line16384) $(ms line65536)" \
  awk -v a="$(ms line4096)" -v b="$(ms line16384)" -v c="$(ms line65536)" 'BEGIN { exit !(a <= b && b < c) }'
run import "$small" --batch 65536 --scale-dense kernels -o scaled
run run scaled/scenario.yaml -q --json -o scaled.run
check "kernels in proportion are as much longer" awk -v a="$(ms scaled.run)" -v b="$(ms line4096)" 'BEGIN { exit !(a > 1.5 * b) }'
run import "$small" --batch 65536 --scale-dense nothing -o same
run run same/scenario.yaml -q --json -o same.run
check "or nothing changes" awk -v a="$(ms same.run)" -v b="$(ms line4096)" 'BEGIN { exit !(a / b > 0.99 && a / b < 1.01) }'
refuse 2 "another trace of rank 0" import "$small" "$traces/dot128_bf16_b4096.json.gz" -o refused
echo hello >text.json.gz
refuse 2 "text.json.gz: no profiler.s trace is in it: the file is empty, cut off, or not compressed by gzip" import text.json.gz -o refused
tar czf ranks.tar.gz text.json.gz
refuse 2 "ranks.tar.gz: an archive of files .tar.*name the folder" import ranks.tar.gz -o refused
python3 -c 'import pickle; pickle.dump({"plan": 1}, open("plan.pkl", "wb"))'
refuse 2 "plan.pkl: the file is a pickle of Python. Load it in Python and write its content as JSON" import plan.pkl -o refused
refuse 2 "2 batch sizes for 1 trace" import "$small" --traced-batch 1 --traced-batch 2 -o refused
refuse 2 "--traced-batch: .*no batch size" import "$small" --traced-batch 0 -o refused
refuse 2 "no profiler.s trace, where the first file is one" import "$small" tables.csv -o refused
refuse 2 "one file of tables is imported at a time" import tables.csv few.csv -o refused
refuse 2 "no profiler.s trace, but a list of tables" import tables.csv --scale-dense kernels -o refused

echo "-- several ranks of one world"
mkdir ranks
for rank in 0 3; do
  zcat "$small" | jq -c --argjson rank $rank '.distributedInfo = {"backend": "nccl", "rank": $rank, "world_size": 8}' >ranks/rank$rank.json
done
run import ranks -o of_ranks
check "a folder of ranks is taken: $(cat streams/err)" grep -q 'Of 2 traced ranks, rank [03] has most to do' streams/err
jq -c '.distributedInfo.world_size = 4' ranks/rank3.json >other.json
refuse 2 "a world of 4 ranks, where .*rank0.json has 8" import ranks/rank0.json other.json -o refused

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
notes() { jq -r '.cases[0].notes[]' "$1/result.json"; }
check "... of which a run says what it is: $(notes traced_run)" \
  grep -q "The dense part, lookups, updates and the host are those of dot128_tf32_b4096.json.gz, a trace of NVIDIA H100" <<<"$(notes traced_run)"
run check traced.yaml
check "... and a check, too: $(cat streams/err streams/out)" grep -q "are those of dot128_tf32_b4096" <<<"$(cat streams/err streams/out)"
zcat "$small" | jq -c 'del(.traceEvents[].args["Input Dims"]?) | .distributedInfo = {"rank": 0, "world_size": 8}' >of_eight.json
sed "s|$traces/dot128_tf32_b4096.json.gz|of_eight.json|" workload.yaml >eight_workload.yaml
sed 's/workload.yaml/eight_workload.yaml/' traced.yaml >eight.yaml
run run eight.yaml -q --json -o eight_run
check "... and what it leaves open: $(cat streams/err)" grep -q "The trace is of 8 ranks: what they exchange is no part" <<<"$(notes eight_run)"
check "... as its batch" grep -q "The trace does not say its batch" <<<"$(notes eight_run)"
sed -i 's/dense: {/dense: {precision: tf32, /' workload.yaml
refuse 2 "both 'trace' and 'precision'" check traced.yaml
sed -i 's/precision: tf32, //; s/batch_per_gpu: 4096/batch_per_gpu: 512/' workload.yaml
refuse 2 "workload.yaml:5:.*the trace is of a batch of 4096 per GPU, and batch_per_gpu is 512" check traced.yaml

echo "-- why of a trace"
run why --trace "$traces/dot128_tf32_b4096.json.gz" --json
check "explains the step: $(cat streams/err)" jq -e '(.step_ms - ([.parts[] | .kernels_ms + .exchanges_ms + .copies_ms + .waiting_ms] | add) | fabs) < 0.001' streams/out
run why --trace "$traces/dot128_tf32_b4096.json.gz"
check "and says what would help: $(cat streams/err)" grep -q "the host is never late" streams/out
check "and what kinds of kernels the dense part has" grep -q "products" streams/out
for idle in "--set cluster=toy_2x4" "--case toy" --path-only "--seed 3"; do
  refuse 2 "argument --${idle:2:3}.*: the option has no effect together with --trace" \
    why --trace "$traces/dot128_tf32_b4096.json.gz" $idle
done
run why --trace "$traces/dot128_tf32_b4096.json.gz" -o step
check "the step is written as JSON: $(cat streams/err)" [ "$(jq -r .schema step/why.json)" = shardsim.why_trace/1 ]
check "... and as a page" grep -q "the host is never late" step/why.html
refuse 2 "there is a scenario, too" why --trace "$traces/dot128_tf32_b4096.json.gz" traced.yaml
refuse 2 "nothing is named" why

# A third of FBGEMM's update is sorts, whose names are none of embeddings; the copy that permutes gradients is no lookup.
run why --trace "$source/scenarios/measurements/traces/torchrec_a100_pg509.json.gz" --json
check "what launched a kernel decides: $(jq -c '.parts' streams/out)" \
  jq -e '[.parts[] | select(.part == "lookup" or .part == "update") | .kernels_ms] | (.[0] > 2.5 and .[0] < 2.6 and .[1] > 9.9 and .[1] < 10.1)' streams/out

echo "-- compare: operations by what they do"
run run dot128_tf32_b4096/scenario.yaml -q -o for_compare
run compare for_compare/timeline.h5 --observed-kineto "$traces/dot64_fp32_b4096.json.gz" --json
check "updates of EmbeddingBag are found: $(cat streams/err)" grep -q '"update"' streams/out
check "the backward pass is compared with that of the trace" jq -e 'any(.cases[0].operations[]; .name == "dense_backward")' streams/out
run why --trace "$traces/dot64_fp32_b4096.json.gz" --json
step=$(jq .step_ms streams/out)
run compare for_compare/timeline.h5 --observed-kineto "$traces/dot64_fp32_b4096.json.gz" --json
check "the observed iteration is the step that is imported, $step ms" \
  jq -e --argjson ms "$step" '(.cases[0].iteration.observed_median_ms - $ms | fabs) < 0.00001' streams/out
# Of steps with exchanges and copies, both tell the same step, and hide exchanges behind copies, too.
eight=$source/scenarios/measurements/traces/torchrec_a100_pg509.json.gz
run why --trace "$eight" --json
exposed=$(jq '[.parts[].exchanges_ms] | add' streams/out)
run compare for_compare/timeline.h5 --observed-kineto "$eight" --json
check "exposed exchanges of both commands are the same, $exposed ms: $(jq -c '.cases[0].exposed_comm' streams/out)" \
  jq -e --argjson ms "$exposed" '(.cases[0].exposed_comm.observed_median_ms / $ms - 1 | fabs) < 0.002' streams/out
run compare for_compare/timeline.h5 --observed-kineto ranks/rank3.json --json
check "one rank of a world is compared with a rank that stands alone: $(cat streams/err)" grep -q "rank 3 of 8 was observed" streams/out

echo "-- what is no trace of training"
refused() {  # WHAT PATTERN FILE
  echo "$1"
  refuse 2 "$2" import "$3" -o refused
}
zcat "$traces/dot64_fp32_b1024.json.gz" >whole.json
change() { jq -c "$1" whole.json >"$2"; }
# Events that are timed, by their categories.
gpu='(.cat == "kernel" or .cat == "gpu_memcpy" or .cat == "gpu_memset")'
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
run run "$source/scenarios/toy.yaml" --case row_wise --trace row_wise -q -o predicted
refused "a prediction of ours" "written of a timeline of shardsim.*no measurement" predicted/trace/row_wise/rank0.json
change '.deviceProperties[0].name = "AMD Instinct MI250X"' rocm.json
refused "ROCm" "ROCm" rocm.json
change '.traceEvents |= map(if .cat == "cuda_runtime" then .cat = "xpu_runtime" else . end)' xpu.json
refused "Intel's" "a trace of Intel's XPU, whose kernels are not known here" xpu.json
change '.traceEvents |= map(if .cat == "kernel" then .cat = "mtia_ccp_events" else . end)' mtia.json
refused "MTIA" "a trace of MTIA" mtia.json
change '.deviceProperties[0].name = "Some GPU"' unknown_gpu.json
refused "an unknown GPU" "Name a cluster with --cluster" unknown_gpu.json
head -c 300000 whole.json >cut.json
refused "a trace that is cut off" "cut.json:[0-9]*:[0-9]*: not JSON, or cut off; .* were read before" cut.json
head -c 20000 "$traces/dot64_fp32_b1024.json.gz" >cut.json.gz
refused "a compressed trace that is cut off" "is cut off" cut.json.gz
change ".traceEvents |= map(if $gpu then .ts -= 3000 else . end)" gpu_clock.json
refused "a clock of the GPU that jumped" "ms before the host launches them: a clock jumped" gpu_clock.json
change '.traceEvents |= map(if .cat == "user_annotation" and .name == "ProfilerStep#4" then .pid = 7 else . end)' two_hosts.json
refused "two processes" "steps of 2 processes" two_hosts.json
change '.traceEvents |= map(if .cat == "cuda_runtime" and ((.ts | floor) % 2 == 0) then .pid = 7 else . end)' two_launchers.json
refused "two processes that launch" "launched by 2 processes" two_launchers.json
change '.traceEvents |= map(if .name == "cudaLaunchKernel" then .name = "hipLaunchKernel" else . end) | del(.deviceProperties)' hip.json
refused "ROCm without its device" "ROCm .its host calls HIP." hip.json
change ".traceEvents |= map(if $gpu then del(.dur) else . end)" no_times.json
refused "kernels without times" "none of its 2.. GPU kernels has a start and a duration" no_times.json
change '.traceEvents |= map(select((.cat == "kernel" and (.args.correlation % 4) != 0) | not))' lost.json
refused "most kernels are lost" "are not in the trace, and no other step has more of them" lost.json
change '.traceEvents |= map(if .dur != null then (.dur, .ts) |= . / 1000 else . end)' milliseconds.json
refused "times in milliseconds" "its times are not in microseconds" milliseconds.json
change '.distributedInfo = {"backend": "nccl", "rank": 4, "world_size": 4}' outside.json
refused "a rank outside its world" "rank 4 of a world of 4 ranks" outside.json
for file in clock_jump gpu_clock two_devices two_launchers lost milliseconds; do
  refuse 2 "$file.json: " compare for_compare/timeline.h5 --observed-kineto $file.json
done
refuse 2 "is cut off or damaged; .* were read before" why --trace cut.json.gz
printf 'PK\003\004trace' >packed.zip
refuse 2 "packed.zip: the file is a ZIP archive.*and no trace" why --trace packed.zip
refuse 2 "is cut off or damaged; .* were read before" compare for_compare/timeline.h5 --observed-kineto cut.json.gz
refuse 2 "ROCm" compare for_compare/timeline.h5 --observed-kineto rocm.json
sed "s|$traces/dot128_tf32_b4096.json.gz|cut.json|; s/batch_per_gpu: 512/batch_per_gpu: 4096/" workload.yaml >cut_workload.yaml
sed 's/workload.yaml/cut_workload.yaml/' traced.yaml >cut_scenario.yaml
refuse 2 "cut.json:.*were read before" check cut_scenario.yaml

echo "-- traces that have less, or are older, with what that means"
taken() {  # WHAT PATTERN FILE
  echo "$1"
  run import "$3" --force -o taken
  check "$1: it is taken: $(cat streams/err)" [ "$code" -eq 0 ]
  check "$1: it is said: $(cat streams/err)" grep -qE "$2" streams/err
}
change '.traceEvents |= map(if .cat == "cuda_runtime" and (.args.correlation? // 1) % 5 == 0 then del(.args.correlation) else . end)' some_launches.json
taken "some correlations are missing" "have no launch with their correlation: they count by the time" some_launches.json
change ".traceEvents |= map(if .cat == \"kernel\" and (.ts | floor) % 7 == 0 then del(.dur) else . end)" some_times.json
taken "some kernels have no duration" "without a start or a duration are left out" some_times.json
change '.traceEvents |= map(if .cat == "kernel" and (.name | test("elementwise")) then .name = "my_own_thing" else . end)' unknown.json
taken "names that nobody knows" "names are not known count as dense: .my_own_thing. [0-9.]+ ms" unknown.json
change '.traceEvents |= (map(select((.name // "") == "ProfilerStep#4").ts) [0] as $from | map(if (.ts // 0) > $from + 500 then .ts += 1000000 else . end))' jump.json
taken "a clock that jumps within a step" "left out" jump.json
change '.traceEvents |= map(if .cat == "kernel" then .cat = "Kernel" elif .cat == "gpu_memcpy" then .cat = "Memcpy" elif .cat == "gpu_memset" then .cat = "Memset" elif .cat == "cpu_op" then .cat = "Operator" elif .cat == "cuda_runtime" then .cat = "Runtime" elif .cat == "user_annotation" then .cat = "Operator" else . end) | .deviceProperties = [{"name": "Tesla V100-SXM2-32GB"}]' old.json
taken "the categories of PyTorch before 1.12, of a V100" "so the cluster is dgx1_v100" old.json
change '.deviceProperties = [{"id": 0, "name": "NVIDIA T400"}, .deviceProperties[0] + {"id": 1}] | .traceEvents |= map(if .cat == "kernel" then .pid = 1 else . end)' second.json
taken "a second GPU beside that of a display" "The GPU is NVIDIA H100" second.json
change '.traceEvents |= map(if .name == "cudaLaunchKernel" then .name = "cudaGraphLaunch" else . end) | .traceEvents |= map(select((.name // "") | test("autograd|ackward|index_add_") | not))' graph.json
taken "a step that is a CUDA graph" "are of CUDA graphs, which do not say what each is for" graph.json
change '.traceEvents += [.traceEvents[] | select(.cat == "kernel")]' twice.json
taken "events that are there twice" "events of the GPU are in the trace more than once" twice.json
change '.traceEvents |= map(if .cat == "kernel" and (.name | test("elementwise")) then .name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)" else . end)' no_world.json
taken "collectives of an unknown world" "does not say of how many ranks" no_world.json
jq -c . whole.json | sed 's/"args":{/"args":{"blocks per SM":Infinity,"warps per SM":-inf,"bandwidth":NaN,/g' >no_numbers.json
taken "arguments that are no number" "The GPU is NVIDIA H100" no_numbers.json
change 'del(.traceEvents[].args["Input Dims"]?)' no_shapes.json
taken "no shapes" "taken as one of 4,096 samples per GPU, which is a guess" no_shapes.json
change '.traceEvents |= (map(select((.name // "") | test("mbedding|index_add_") | not)))' no_tables.json
taken "no embeddings" "takes no time" no_tables.json
run run taken/scenario.yaml -q --json -o no_tables.run
run why --trace no_tables.json --json
check "no embeddings: the step is the traced one" jq -e --argjson ms "$(ms no_tables.run)" '(.step_ms - $ms | fabs) < 0.00001' streams/out
refuse 2 "traces: is a folder, where one trace is due" why --trace "$traces"
refuse 2 "no shapes of lookups" import no_shapes.json --tables-of-trace rank -o refused
finish 117
