#!/usr/bin/env bash
# Makes the program files of validate/programs/programs.yaml and of the cases of scenarios/one_gpu.yaml (one_gpu_*), and what the
# simulator predicts of those that are timed, for GPUs that it has constants of: predicted.tsv, a line per program, GPU and operation
# (its total in an iteration, ms), by the constants of its own kernels. None of these was fitted on these programs.
# Usage: gpu_programs.sh SHARDSIM OUT_DIR
set -euo pipefail
[ $# -eq 2 ] || { sed -n '/^# Usage/s/^# //p' "$0"; exit 2; }
shardsim=$(realpath "$1")
mkdir -p "$2"
out=$(cd "$2" && pwd)
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export SHARDSIM_DATA=${SHARDSIM_DATA:-$source}
cd "$source"  # program files say whose they are by this path
scenario=validate/programs/programs.yaml

for name in $(sed -n 's/^  - name: //p' "$scenario"); do
  "$shardsim" lower "$scenario" --case "$name" -o "$out/${name//\//_}.json" --force
done

# Those that were measured on an H100, but for the ones above.
single=scenarios/one_gpu.yaml
for name in $(sed -n 's/^  - name: h100\///p' "$single" | grep -v '^share/'); do
  "$shardsim" lower "$single" --case "h100/$name" -o "$out/one_gpu_${name//\//_}.json" --force
done

# predict WORDS CLUSTER: the words are in the name of the GPU as CUDA says it.
predict() {
  local words=$1 cluster=$2
  predict_cases "$words" "$cluster" "$scenario" 'share/*' share_
  predict_cases "$words" "$cluster" "$single" 'h100/*' one_gpu_
}
predict_cases() {
  local words=$1 cluster=$2 scenario=$3 cases=$4 prefix=$5
  "$shardsim" run "$scenario" --case "$cases" --set "cluster=$cluster" --set cluster.nodes=1 \
    --set cluster.gpu.count=1 --set compute_model="{name: gpu_kernels, kernels: executor}" --json -o "$work/run" 2> "$work/messages" |
    jq -r --arg words "$words" --arg prefix "$prefix" '.cases[] | select(.name | startswith("h100/share/") | not) |
      ($prefix + (.name | sub("^[^/]*/"; "") | gsub("/"; "_"))) as $name |
      ([$name, $words, "iteration", .iteration_ms], (.compute[] | [$name, $words, .name, .total_ms])) | @tsv' ||
    { cat "$work/messages" >&2; exit 1; }
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
  predict "A100 80GB" a100_80gb_single
  predict "H100" dgx_h100
  predict "H200" dgx_h200
} > "$out/predicted.tsv"
