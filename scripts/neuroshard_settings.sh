#!/usr/bin/env bash
# NeuroShard's 12 settings (Zha et al., MLSys 2023, table 1): 4 and 8 GPUs, largest dims 4, 8, 16, 32, 64 and 128, 100 tasks
# each, drawn of the shipped pool with seed 0; every task planned by each planner and judged by simulation. Prints the
# summary of each setting; files go to OUT (default: out/neuroshard): SETTING.yaml, SETTING.txt (all tables) and
# SETTING/result.json.
# Usage: neuroshard_settings.sh [-o OUT] [-s SHARDSIM] [-t TASKS] [-p PLANNERS] [-c CLUSTER] [-a PATH=VALUE] [-l] [SETTING...]
#   SETTING: GPUSxDIM, as 4x128; all twelve without. PLANNERS: a YAML list as in `planners` of a scenario.
#   CLUSTER: another one than pcie_4gib_x4 and _x8, with 4 GiB a GPU: dgx_h100 has the laws of kernels measured on its GPU.
#   PATH=VALUE: a change of all scenarios, as of --set; may be repeated. The costs that were measured on an H100 are of rows that
#   row-wise Adagrad updates (workload.optimizer.name=rowwise_adagrad); tasks are drawn with sgd.
#   -l: with AutoShard, DreamShard and TorchRec. Their policies are trained first, once for all settings, on tasks of another seed
#   (nine of each setting, without those that do not fit; a minute of a CPU), where OUT has none yet. Prints the rows of
#   docs/papers/neuroshard_table1.csv at the end.
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
usage() { sed -n 's/^# \(Usage: .*\)/\1/p; s/^#   \(SETTING: .*\)/  \1/p' "$0"; }

out=out/neuroshard tasks=100 cluster='' learned='' changed=()
shardsim=$source_dir/run.sh
planners='[{name: random, label: random, sharding_types: [table_wise]}, {name: greedy, score: size, label: size},
  {name: greedy, score: dim, label: dim}, {name: greedy, score: lookup, label: lookup},
  {name: greedy, score: size_lookup, label: size_lookup}, {name: greedy, score: cost, label: cost}, {name: neuroshard}]'
while getopts o:s:t:p:c:a:lh option; do
  case $option in
    o) out=$OPTARG ;;
    s) shardsim=$OPTARG ;;
    t) tasks=$OPTARG ;;
    p) planners=$OPTARG ;;
    c) cluster=$OPTARG ;;
    a) changed+=(--set "$OPTARG") ;;
    l) learned=1 ;;
    h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
settings=("$@")
all_settings=({4,8}x{4,8,16,32,64,128})
[ $# -gt 0 ] || settings=("${all_settings[@]}")
mkdir -p "$out"
out=$(cd "$out" && pwd)

# T of 10 to 59 and 15 GiB in all on 4 GPUs (daochenzha/neuroshard at ec7ca74, gen_tasks.py), of 20 to 119 on 8 (the
# paper), with 31 GiB by the same rule.
# draw GPUS DIM TASKS FILE OPTION...
draw() {
  local gpus=$1 dim=$2 count=$3 file=$4 tables=(--min-tables 10 --max-tables 59) bytes="15 GiB"
  shift 4
  if [ "$gpus" = 8 ]; then tables=(--min-tables 20 --max-tables 119) bytes="31 GiB"; fi
  [ -z "$cluster" ] || tables+=(--cluster "$cluster" --memory "4 GiB")
  "$shardsim" workload sample tasks metasyn_856 --tasks "$count" --gpus "$gpus" "${tables[@]}" --max-dim "$dim" \
    --max-bytes "$bytes" "$@" -o "$file" --force
}

# Nothing can be learned from a task whose tables, dealt whole, fit nowhere, and trainings refuse it: such tasks leave their files.
leave_out_unfit() {
  local task file unfit
  "$shardsim" run "$out/training/all.yaml" --set 'planners=[{name: greedy, score: size}]' "${changed[@]}" -o "$out/training/fit" -q --force >"$out/training/fit.txt"
  unfit=$(python3 -c 'import json, sys
for task in json.load(open(sys.argv[1]))["planner_comparisons"]:
    if not any(plan["solved"] for plan in task["planners"]): print(task["case"])' "$out/training/fit/result.json")
  for task in $unfit; do
    for file in "$out/training/"*x*.yaml; do
      awk -v left="  - name: $task" '/^  - name: /{out = $0 == left} !out' "$file" >"$out/training/kept"
      mv "$out/training/kept" "$file"
    done
  done
  [ -z "$unfit" ] || echo "left out of the training, since dealt whole their tables do not fit: ${unfit//$'\n'/, }"
}

# Tasks of all settings in one scenario, with names that tell the settings apart.
draw_training() {
  local setting files=()
  mkdir -p "$out/training"
  for setting in "${all_settings[@]}"; do
    draw "${setting%x*}" "${setting#*x}" 10 "$out/training/$setting.yaml" --test 1 --seed 100
    sed -i "s|- name: \(t[a-z]*\)/|- name: \1/$setting/|" "$out/training/$setting.yaml"
    files+=("$setting.yaml")
  done
  printf 'schema: shardsim.scenario/1\ntitle: "NeuroShard'"'"'s settings, up to 9 tasks of each, seed 100"\ninclude: [%s]\n' \
    "$(IFS=,; echo "${files[*]}")" >"$out/training/all.yaml"
  leave_out_unfit
}

if [ -n "$learned" ]; then
  [ -f "$out/autoshard.h5" ] && [ -f "$out/dreamshard.h5" ] || draw_training
  for planner in autoshard dreamshard; do
    [ -f "$out/$planner.h5" ] || "$shardsim" "$planner" train "$out/training/all.yaml" "${changed[@]}" -o "$out/$planner.h5"
  done
  planners="${planners%]}, {name: autoshard, policy: $out/autoshard.h5}, {name: dreamshard, policy: $out/dreamshard.h5}, {name: torchrec}]"
fi

for setting in "${settings[@]}"; do
  [[ $setting =~ ^(4|8)x(4|8|16|32|64|128)$ ]] || { echo "error: no setting $setting" >&2; usage >&2; exit 2; }
  draw "${setting%x*}" "${setting#*x}" "$tasks" "$out/$setting.yaml"
  "$shardsim" run "$out/$setting.yaml" --set "planners=$planners" "${changed[@]}" -o "$out/$setting" -q >"$out/$setting.txt"
  echo "$setting: $(head -n 1 "$out/$setting.txt")"
  sed -n '/^PLANNERS OVER ALL CASES/,/^$/p' "$out/$setting.txt"
done

[ -z "$learned" ] || python3 "$source_dir/scripts/neuroshard_table1.py" "$out" "${settings[@]}"
