#!/usr/bin/env bash
# Where hot rows lie, nobody knows before training: no answer depends on a seed, a name of a table, or one draw of it.
# Usage: row_placements.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

# scenario TABLE: three tables on eight GPUs, row_wise and flex, whose winner changes with the placement of rows.
scenario() {
  cat <<YAML
schema: shardsim.scenario/1
cluster:
  schema: shardsim.cluster/1
  name: c
  gpu: {model: toy, count: 8, compute_capability: '7.0', hbm: 80 GiB, hbm_bandwidth: 900 GB/s, flops: {fp32: 10 TFLOP/s, bf16: 100 TFLOP/s}, kernel_overhead: 3 us, stream_sharing: 1}
  fits: none
  nvlink: {kind: switch, links_per_gpu: 6}
workload:
  schema: shardsim.workload/1
  name: w
  batch_per_gpu: 512
  tables:
    - {name: $1, rows: 10000, dim: 256, kind: sequence, access: {family: zipf, s: 1}, average_length: 50}
    - {name: t01, rows: 10000, dim: 16, dtype: fp16, kind: sequence, access: {family: zipf_mandelbrot, s: 1.1, q: 5}, average_length: 1}
    - {name: t02, rows: 10000, dim: 32, dtype: fp16, kind: sequence, average_length: 5}
  dense: {precision: bf16, layers: [{name: bottom, in: 13, out: 512}, {name: top, in: 1024, out: 1024}]}
software: {name: hugectr_graph}
cases:
  - {name: row_wise, planner: {name: row_wise}}
  - {name: flex, planner: {name: flex}}
YAML
}
scenario t00 >rows.yaml
scenario renamed >renamed.yaml

# of KEY RESULT: that number of each case, in their order.
of() { grep -E "^ *\"$1\":" "$2/result.json" | tr -d ' ,' | cut -d: -f2 | tr '\n' ' '; }

echo "-- the same for any seed and any name"
run run rows.yaml -q -o one
check "run exits 0: $(head -3 streams/err)" [ "$code" -eq 0 ]
cp streams/out one.txt
for seed in 2 8; do
  run run rows.yaml --seed $seed -q -o "seed_$seed"
  check "seed $seed changes no iteration" [ "$(of iteration_ms one)" = "$(of iteration_ms "seed_$seed")" ]
done
run run renamed.yaml -q -o renamed
check "a renamed table changes no iteration" [ "$(of iteration_ms one)" = "$(of iteration_ms renamed)" ]

echo "-- the spread is said, and no chance is stated that another placement turns round"
check "where hot rows lie is said" grep -q "nobody knows it before training" <(tr '\n' ' ' <one.txt)
check "of both plans" [ "$(tr '\n' ' ' <one.txt | grep -o "Over 32 placements" | wc -l)" -eq 2 ]
check "32 times of each" [ "$(grep -c row_placements_ms one/result.json)" -eq 2 ]
chance=$(grep -A2 'chosen, and faster than' one.txt | tail -1 | awk '{ print $2 }')
check "no chance above 90 %: $chance" awk -v chance="$chance" 'BEGIN { exit !(chance > 50 && chance < 90) }'

echo "-- one placement, fixed"
for seed in 1 2 3 4 5 6 7 8; do
  run run rows.yaml --set load.placement=$seed -q -o "fixed_$seed"
  of iteration_ms "fixed_$seed" | cut -d' ' -f1
done >fixed.txt
check "placements differ" [ "$(sort -u fixed.txt | wc -l)" -gt 6 ]
within=$(awk -v told="$(of iteration_ms one | cut -d' ' -f1)" '{ sum += $1 } END { print told / (sum / NR) }' fixed.txt)
check "what is told is near their mean: $within" awk -v ratio="$within" 'BEGIN { exit !(ratio > 0.93 && ratio < 1.07) }'
check "a fixed placement has no spread" bash -c '! grep -q row_placements_ms fixed_3/result.json'

echo "-- a sweep says the same as run"
{
  scenario t00 | sed '/^cases:/,$d'
  echo 'planner: {name: row_wise}'
  echo 'sweep: {axes: {iterations: [20]}}'
} >sweep.yaml
run sweep sweep.yaml -q -o sweep
check "the sweep exits 0: $(head -3 streams/err)" [ "$code" -eq 0 ]
check "with the iteration and the interval of run" bash -c "grep -q '$(of iteration_ms one | cut -d' ' -f1)' sweep/sweep.csv && grep -q '$(of low_ms one | cut -d' ' -f1 | cut -c1-7)' sweep/sweep.csv"

refused() {
  run run rows.yaml --set "$1" -q -o refused
  check "$1 is refused" [ "$code" -eq 2 ]
}
refused load.placement=-1
refused load.placement=x
finish 14
