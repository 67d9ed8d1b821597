#!/usr/bin/env bash
# Do learned costs pay where times are measured? Here, on one thread of this machine's CPU:
# 1. 600 shards of the shipped pool (batch 4,096) are timed, forward and backward; two thirds train the nets and fit the
#    roofline, and both predict the rest.
# 2. 30 tasks of 24 to 35 tables over 4 devices are planned by the table-wise heuristics and by `greedy` with the score
#    `cost` and these costs. The shards of all plans are timed; a plan is as slow as its slowest device.
# Prints both tables; files go to OUT (default: out/learning_pays), and what was measured is kept there, so that the
# same command goes on after an interruption.
# Usage: learning_pays.sh [-o OUT] [-s FOLDER-OF-PROGRAMS] [-d DEVICE] [-n SHARDS] [-t TASKS]
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=out/learning_pays programs=$source_dir/build/release device=cpu shards=600 tasks=30
while getopts o:s:d:n:t:h option; do
  case $option in
    o) out=$OPTARG ;;
    s) programs=$OPTARG ;;
    d) device=$OPTARG ;;
    n) shards=$OPTARG ;;
    t) tasks=$OPTARG ;;
    h) sed -n 's/^# \(Usage: .*\)/\1/p' "$0"; exit 0 ;;
    *) sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2; exit 2 ;;
  esac
done
[ -x "$programs/shardsim" ] || "$source_dir/scripts/build.sh" release shardsim shardsim-microbench
mkdir -p "$out"
out=$(cd "$out" && pwd) programs=$(cd "$programs" && pwd)
shardsim=$programs/shardsim
cd "$source_dir"

measure() {  # FILE LABELS
  local options=(--device "$device" --visits 3 --warmup 1 --repetitions 2 --seconds 3 -q)
  # A flush of a server's last cache takes longer than most shards, and the tables are far larger than it.
  [ "$device" != cpu ] || options+=(--threads 1 --warm)
  [ -e "$2" ] || "$programs/shardsim-microbench" --shards "$1" "${options[@]}" -o "$2"
}

"$shardsim" cost-model sample metasyn_856 -n "$shards" --batch 4096 --seed 1 -o "$out/shards.json" --force
measure "$out/shards.json" "$out/labels.json"
"$shardsim" cost-model train "$out/labels.json" -o "$out/costs.h5" --force
echo "== predicted beside measured, of the third of the shards that no fit has seen"
roofline=dgx_a100_80gb  # whose constants are fitted to the same two thirds of the labels
[ "$device" != cpu ] || roofline=emulated_2x4
"$shardsim" cost-model evaluate "$out/costs.h5" "$out/labels.json" --cluster "$roofline"

# More tasks are drawn than are judged: where the tables of one fit on no device by some score, the next one takes its place.
"$shardsim" workload sample tasks metasyn_856 --tasks "$((2 * tasks))" --gpus 4 --min-tables 24 --max-tables 35 --max-dim 128 \
  --max-bytes "12 GiB" --batch 4096 --seed 3 -o "$out/tasks.yaml" --force
rm -rf "$out/plans"
mkdir -p "$out/plans"

# plan_task TASK: its plans by every score; 3 where one of them has none.
plan_task() {
  local score planner plan code
  for score in size dim lookup size_lookup cost; do
    planner="{name: greedy, score: $score}"
    [ "$score" != cost ] || planner="{name: greedy, score: cost, costs: {file: $out/costs.h5}}"
    plan=$out/plans/${1#task_}_$score.json code=0
    "$shardsim" plan "$out/tasks.yaml" --case "$1" --set "planner=$planner" -o "$plan" 2>"$out/plan.err" || code=$?
    [ "$code" -ne 0 ] || continue
    [ "$code" -eq 3 ] || { cat "$out/plan.err" >&2; exit "$code"; }
    rm -f "$out/plans/${1#task_}_"*
    return 3
  done
}

solved=0
for task in $(sed -n 's/^ *- {\?name: "\?\(task_[0-9]*\).*/\1/p' "$out/tasks.yaml"); do
  [ "$solved" -lt "$tasks" ] || break
  code=0
  plan_task "$task" || code=$?
  [ "$code" -ne 0 ] || solved=$((solved + 1))
done
[ "$solved" -eq "$tasks" ] || echo "warning: only $solved of the $((2 * tasks)) tasks that were drawn have plans by every score" >&2
scripts/plan_shards.py collect "$out/labels.json" "$out/plans" "$out/plan_shards.json"
measure "$out/plan_shards.json" "$out/plan_labels.json"
echo "== the slowest device of each plan, measured"
scripts/plan_shards.py judge "$out/plan_labels.json" "$out/plans"
