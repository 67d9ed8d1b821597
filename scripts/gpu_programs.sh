#!/usr/bin/env bash
# Makes the program files of validate/programs/programs.yaml, and what the simulator predicts of those that are timed, for GPUs
# that it has constants of: predicted.tsv, a line per program, GPU and operation (its total in an iteration, ms). None of the
# constants was fitted on these programs.
# Usage: gpu_programs.sh SHARDSIM OUT_DIR
set -euo pipefail
[ $# -eq 2 ] || { sed -n '5s/^# //p' "$0"; exit 2; }
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

# Words that are in the name of a GPU as CUDA says it.
predict() {
  local words=$1 cluster=$2
  "$shardsim" run "$scenario" --case 'share/*' --set "cluster=$cluster" --set cluster.nodes=1 \
    --set cluster.gpu.count=1 --json -o "$work/run" 2> "$work/messages" |
    jq -r --arg words "$words" '.cases[] | (.name | gsub("/"; "_")) as $name |
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
