#!/usr/bin/env bash
# PyTorch's dense part by operator: the kernels that its traces have, the longer of host and GPU, and what cannot be.
# Usage: pytorch_software.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
steps=$source/scenarios/pytorch_steps.yaml

echo "-- kernels and operators"
run run "$steps" --set software=pytorch_graph -q --json -o graph
check "every step of PyTorch is predicted as one graph: $(cat streams/err)" [ "$code" -eq 0 ]
of() { jq -r --arg case "$1" ".cases[] | select(.name == \$case) | $2" graph/result.json; }
# The trace of dot128_tf32_b4096 has 84 kernels of the dense part, of which 7 sum up what weight gradients were split into.
check "dot128 has the kernels of its trace" [ "$(of dot128_tf32/4096 '[.dense_operators[].kernels] | add')" = 77 ]
check "... and a call of each of its seven layers" [ "$(of dot128_tf32/4096 '.dense_operators[] | select(.operator == "linear").calls')" = 7 ]
# 290 us on the H100 in that trace, the largest kernel of the step.
check "the index kernel of the dot interaction is as long as in the trace" \
  jq -e '.cases[] | select(.name == "dot128_tf32/4096").dense_operators[] | select(.operator == "triangle_backward").gpu_ms | . > 0.28 and . < 0.38' graph/result.json
check "autocast has casts" [ "$(of dot128_bf16/4096 '[.dense_operators[] | select(.operator == "cast")] | length')" = 1 ]
check "fp32 has none" [ "$(of dot128_tf32/4096 '[.dense_operators[] | select(.operator == "cast")] | length')" = 0 ]

echo "-- eager: the longer of host and GPU, not their sum"
run run "$steps" --set software=pytorch_eager -q --json -o eager
check "eager steps are predicted: $(cat streams/err)" [ "$code" -eq 0 ]
ms() { jq -r --arg case "$2" '.cases[] | select(.name == $case).iteration_ms' "$1/result.json"; }
within() { awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { exit !(a / b < most && b / a < most) }'; }
check "where the GPU needs far longer, an eager step takes its time" \
  within "$(ms eager dot64_fp32/65536)" "$(ms graph dot64_fp32/65536)" 1.1
for factor in 1 2; do run run "$steps" --set software=pytorch_eager --set cluster.host.time_factor=$factor -q --json -o "slow$factor"; done
check "where the host does, twice as slow a host takes twice as long" \
  awk -v a="$(ms slow2 dot64_fp32/1024)" -v b="$(ms slow1 dot64_fp32/1024)" 'BEGIN { exit !(a / b > 1.9 && a / b < 2.1) }'
run run "$steps" --case dot64_fp32/1024 --set 'software={name: pytorch_eager, operator_times: {linear: 5 ms}}' -q --json -o stated
check "an operator takes the time that is stated for it" \
  awk -v a="$(ms stated dot64_fp32/1024)" -v b="$(ms slow1 dot64_fp32/1024)" 'BEGIN { exit !(a > b + 15) }'
run lower "$steps" --case dot128_tf32/4096 --set software=pytorch_eager -o program.json
check "a Program with its kernels is written: $(cat streams/err)" jq -e '[.ops[] | select(.by_kernel)] | length > 3' program.json
run check program.json
check "... and read: $(cat streams/err)" [ "$code" -eq 0 ]

echo "-- what cannot be"
refuse 2 "unknown key .linears. in .software.operator_times" run "$steps" --set 'software={name: pytorch_eager, operator_times: {linears: 3 us}}' -o none
finish 11
