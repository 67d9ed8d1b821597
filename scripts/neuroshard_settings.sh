#!/usr/bin/env bash
# NeuroShard's 12 settings (Zha et al., MLSys 2023, table 1): 4 and 8 GPUs, largest dims 4, 8, 16, 32, 64 and 128, 100 tasks
# each, drawn of the shipped pool with seed 0; every task planned by each planner and judged by simulation. Prints the
# summary of each setting; files go to OUT (default: out/neuroshard): SETTING.yaml, SETTING.txt (all tables) and
# SETTING/result.json.
# Usage: neuroshard_settings.sh [-o OUT] [-s SHARDSIM] [-t TASKS] [-p PLANNERS] [SETTING...]
#   SETTING: GPUSxDIM, as 4x128; all twelve without. PLANNERS: a YAML list as in `planners` of a scenario.
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
usage() { sed -n 's/^# \(Usage: .*\)/\1/p; s/^#   \(SETTING: .*\)/  \1/p' "$0"; }

out=out/neuroshard tasks=100
shardsim=$source_dir/run.sh
planners='[{name: random, label: random, sharding_types: [table_wise]}, {name: greedy, score: size, label: size},
  {name: greedy, score: dim, label: dim}, {name: greedy, score: lookup, label: lookup},
  {name: greedy, score: size_lookup, label: size_lookup}, {name: greedy, score: cost, label: cost}, {name: neuroshard}]'
while getopts o:s:t:p:h option; do
  case $option in
    o) out=$OPTARG ;;
    s) shardsim=$OPTARG ;;
    t) tasks=$OPTARG ;;
    p) planners=$OPTARG ;;
    h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
settings=("$@")
[ $# -gt 0 ] || settings=({4,8}x{4,8,16,32,64,128})
mkdir -p "$out"
out=$(cd "$out" && pwd)

# T of 10 to 59 and 15 GiB in all on 4 GPUs (daochenzha/neuroshard at ec7ca74, gen_tasks.py), of 20 to 119 on 8 (the
# paper), with 31 GiB by the same rule.
draw() {
  local gpus=$1 dim=$2 tables=(--min-tables 10 --max-tables 59) bytes="15 GiB"
  if [ "$gpus" = 8 ]; then tables=(--min-tables 20 --max-tables 119) bytes="31 GiB"; fi
  "$shardsim" workload sample tasks metasyn_856 --tasks "$tasks" --gpus "$gpus" "${tables[@]}" --max-dim "$dim" \
    --max-bytes "$bytes" -o "$out/${gpus}x$dim.yaml"
}

for setting in "${settings[@]}"; do
  [[ $setting =~ ^(4|8)x(4|8|16|32|64|128)$ ]] || { echo "error: no setting $setting" >&2; usage >&2; exit 2; }
  draw "${setting%x*}" "${setting#*x}"
  "$shardsim" run "$out/$setting.yaml" --set "planners=$planners" -o "$out/$setting" -q >"$out/$setting.txt"
  echo "$setting: $(head -n 1 "$out/$setting.txt")"
  sed -n '/^PLANNERS OVER ALL CASES/,/^$/p' "$out/$setting.txt"
done
