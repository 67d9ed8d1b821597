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

echo "-- one of the draws, by its number: changed cases have their rows in the same places"
draw=$(of row_draw one | cut -d' ' -f1)
run run rows.yaml --case row_wise --set load.draw="$draw" -q -o same
told() { jq '.cases[0].iteration_ms' "$1/result.json"; }
check "draw $draw is the one that was told: $(told same), $(told one)" [ "$(told same)" = "$(told one)" ]
of_draw() { jq ".cases[0].row_placements_ms[$1 - 1]" one/result.json; }
for other in $(jq -r '.cases[0].row_placements_ms | to_entries | sort_by(.value) | (.[3], .[-4]) | .key + 1' one/result.json); do
  run run rows.yaml --case row_wise --set load.draw="$other" -q -o other
  check "draw $other takes about what was said of it: $(told other), $(of_draw "$other")" \
    awk -v is="$(told other)" -v said="$(of_draw "$other")" 'BEGIN { exit !(is / said > 0.95 && is / said < 1.05) }'
done
for plan in one other; do
  run plan rows.yaml --case row_wise --set load.draw=$([ $plan = one ] && echo 1 || echo 2)
  cp streams/out $plan.json
done
check "planners do not know of it" cmp -s one.json other.json

echo "-- why keeps rows where they lie: fewer lookups are no slower, and a run with the same settings says the same"
run why rows.yaml --case row_wise --json
cp streams/out why.json
levers='.help.elasticities[] | select(.lever == "lookups" or .lever == "batch")'
check "fewer are not slower, more are not faster" jq -e "[$levers | .better_10_pct <= 0 and .worse_10_pct >= 0] | length > 1 and all" why.json
while read -r percent set; do
  read -ra settings <<<"$set"
  run run rows.yaml --case row_wise "${settings[@]}" -q -o changed
  check "$set: $percent %" awk -v is="$(told changed)" -v was="$(told same)" -v percent="$percent" \
    'BEGIN { d = 100 * (is / was - 1) - percent; exit !(d < 1e-6 && d > -1e-6) }'
done < <(jq -r "$levers | select(.better_set | length > 0) | \"\\(.better_10_pct) \" + (.better_set | map(\"--set \" + .) | join(\" \"))" why.json)

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
refused load.draw=0
refused load.draw=33
refused load='{placement: 1, draw: 1}'
refused load='{row_shares: even, draw: 1}'
finish 24
