#!/usr/bin/env bash
# Makes scenarios/accuracy/residuals.csv: all published times in the tree beside what SHARDSIM predicts for them.
# Usage: residuals.sh SHARDSIM OUTPUT.csv [PUBLISHED], in the root of the tree. PUBLISHED: the folder of a run of
# scenarios/published_iterations.yaml by this SHARDSIM; without it that is run here.
set -euo pipefail
binary=$(realpath "$1") output=$2 published=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$published" ]; then
  published=$work/published
  "$binary" run scenarios/published_iterations.yaml -j2 -o "$published" -q >/dev/null
fi
"$binary" run scenarios/a100_iterations.yaml -o "$work/a100" -q >/dev/null
"$binary" run scenarios/flexshard.yaml -o "$work/flexshard" -q >/dev/null
"$binary" run scenarios/emulated.yaml -o "$work/emulated" -q >/dev/null
"$binary" collective compare --measurements scenarios/measurements/open -o "$work/collectives" >/dev/null 2>&1
"$binary" compute compare --measurements scenarios/measurements/kernels -o "$work/kernels" >/dev/null 2>&1
/usr/bin/python3 scripts/residuals.py "$output" --collectives "$work/collectives/predictions.csv" \
  --kernels "$work/kernels/predictions.csv" --emulated "$work/emulated/result.json" scenarios/accuracy/emulated.csv \
  "$published/result.json=scenarios/published_iterations.yaml" \
  "$work/a100/result.json=scenarios/a100_iterations.yaml" "$work/flexshard/result.json=scenarios/flexshard.yaml"
