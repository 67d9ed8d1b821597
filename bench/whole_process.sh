#!/usr/bin/env bash
# Measures the cost of `shardsim run` as a whole, with all its files: CPU seconds of all its processes, peak memory of the largest
# of them, and the sizes of its files, beside what the benchmarks say of the parts where shardsim_bench is built.
# Usage: whole_process.sh [SHARDSIM] [RUNS]     the least CPU time of RUNS (3) counts: others use the machine, too
# Example: bench/whole_process.sh build/ci/shardsim 5
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
shardsim=$(realpath "${1:-$root/build/ci/shardsim}")
runs=${2:-3}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

cat >"$out/jumbo.yaml" <<'SCENARIO'
schema: shardsim.scenario/1
title: a random plan of NVIDIA's jumbo, as in bench/scale_bench.cpp
cluster: {base: dgx_a100_80gb, nodes: 128}
workload: {base: nv_jumbo, batch_per_gpu: 64}
planner: {name: random, max_replicated: 64 MiB}
SCENARIO

kilobytes() { echo $(($(stat -c %s "$1") / 1000)); }

# measure NAME ARGUMENT...
measure() {
  local name=$1
  shift
  for ((run = 0; run < runs; ++run)); do
    /usr/bin/time -a -o "$out/$name.times" -f '%U %S %M' "$shardsim" run "$@" -q -o "$out/$name" >/dev/null 2>&1
  done
  awk -v name="$name" -v html="$(kilobytes "$out/$name/report.html")" -v json="$(kilobytes "$out/$name/result.json")" \
    -v h5="$(kilobytes "$out/$name/timeline.h5")" '
    { cpu = $1 + $2; if (NR == 1 || cpu < least) least = cpu; if ($3 > peak) peak = $3 }
    END { printf "%-34s %8.2f %9.0f %12d %12d %12d\n", name, least, peak / 1024, html, json, h5 }' "$out/$name.times"
}

printf '%-34s %8s %9s %12s %12s %12s\n' run 'CPU s' 'peak MB' 'report kB' 'result kB' 'timeline kB'
measure random_nv_jumbo_1024_gpus "$out/jumbo.yaml"
for nodes in 512 8192; do
  measure "rm1_flexshard_3tier_$((nodes * 8))_gpus" "$root/scenarios/flexshard.yaml" --case rm1/flexshard_3tier \
    --set "cluster.nodes=$nodes"
done

bench=$(dirname "$shardsim")/bench/shardsim_bench
[ -x "$bench" ] || { echo "no parts: $bench is not built"; exit 0; }
echo
"$bench" --benchmark_filter='(uneven/rm1_flexshard_3tier/(4096|16384)|random/nv_jumbo/1024)$'
