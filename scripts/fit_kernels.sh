#!/usr/bin/env bash
# Fits the constants of kernels by table anew, scenarios/gpus/fbgemm.yaml and executor.yaml, from the measurements in the tree, and
# prints the errors on the rows that judge. Each fit begins with the file of before; three in a row end where a fourth changes nothing
# to speak of. Usage: fit_kernels.sh SHARDSIM [fbgemm|executor]...
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: fit_kernels.sh SHARDSIM [fbgemm|executor]..." >&2; exit 2; }
shardsim=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
measured=scenarios/measurements
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
export SHARDSIM_DATA=$PWD

files_of() {
  case $1 in
    fbgemm) printf '%s\n' "$measured/fbgemm/shards_h100.csv" "$measured/fbgemm/grid_h100.csv" ;;
    executor) printf '%s\n' "$measured/one_gpu/h100/second_kernels/shards.csv" ;;
    *) echo "error: unknown kernels $1: fbgemm or executor" >&2; exit 2 ;;
  esac
}
fit() { "$shardsim" compute fit --kernels "$1" --workload metasyn_856 "${@:2}" -o "$made/$1.yaml" --force; }
judge() { "$shardsim" compute compare --kernels "$1" --workload metasyn_856 --measurements "$2" -o "$made/compare" --force; }

for kernels in "${@:-fbgemm executor}"; do
  for name in $kernels; do
    mapfile -t files < <(files_of "$name")
    for _ in 1 2 3; do
      fit "$name" $(printf -- '--measurements %s ' "${files[@]}")
      cp "$made/$name.yaml" "scenarios/gpus/$name.yaml"
    done
    for file in "${files[@]}"; do judge "$name" "$file"; done
  done
done
