#!/usr/bin/env bash
# AutoShard's policy with all features, and without what it is told of lookups (or other features), over seeds: balance in % (of several seeds
# the mean, and the least and most) and speed-up beside what the paper has (KDD 2022, section 5: other tables, other costs), as CSV. About 70 s of CPU per policy.
# Usage: autoshard_ablation.sh [SHARDSIM] [SEEDS [FEATURE...]], by default 5 pooling_factor
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
shardsim=$(realpath "${1:-$here/build/release/shardsim}") seeds=${2:-5}
features=("${@:3}")
[ "${#features[@]}" -gt 0 ] || features=(pooling_factor)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# published VARIANT: balance and speed-up; 80 tables on 8 GPUs, MetaSyn, mean of five runs.
published() {
  case $1 in
    full) echo "88.6 +- 1.2, 1.712 +- 0.027" ;;
    dim) echo "87.6 +- 1.5, 1.706 +- 0.056" ;;
    row) echo "87.8 +- 0.9, 1.702 +- 0.047" ;;
    pooling_factor) echo "45.9 +- 1.9, 1.271 +- 0.035" ;;
    size) echo "87.0 +- 1.1, 1.683 +- 0.049" ;;
    bins) echo "84.3 +- 1.3, 1.688 +- 0.035" ;;
    cost_model) echo "61.3 +- 12.9, 1.420 +- 0.203" ;;
    *) echo "-" ;;
  esac
}

echo "# scripts/autoshard_ablation.sh SHARDSIM $seeds ${features[*]}"
echo "variant,seeds,published,ours"
for variant in full "${features[@]}"; do
  without=()
  [ "$variant" = full ] || without=(--without "$variant")
  : >"$work/rows"
  for seed in $(seq "$seeds"); do
    "$shardsim" autoshard train "$here/scenarios/autoshard_tasks.yaml" --seed "$seed" "${without[@]}" \
      -o "$work/policy.h5" --force 2>/dev/null | awk '$1 == "policy" { print $3, $6 }' >>"$work/rows"
  done
  awk -v variant="$variant" -v published="$(published "$variant")" '
    { sum += $1; speed += $2; if (NR == 1 || $1 < least) least = $1; if ($1 > most) most = $1 }
    END { range = (NR > 1) ? sprintf(" (%.1f to %.1f)", least, most) : ""
          printf "%s,%d,\"%s\",\"%.1f%s, %.3f\"\n", variant, NR, published, sum / NR, range, speed / NR }' "$work/rows"
done
