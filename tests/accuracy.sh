#!/usr/bin/env bash
# Every number in the tables of docs/accuracy.md is what the study, the published iterations and the comparisons of
# collectives and of kernels give today; the iterations of each model come in the published order over its numbers of GPUs.
# The same for docs/one_gpu.md and what was measured on single GPUs, for the summary in README.md and docs/accuracy.md, and for the sentences
# that scripts/accuracy_prose.py lists. Of the cross-checks of docs/crosscheck.md two are run, all seven with SHARDSIM_ALL_CROSS_CHECKS=1.
# Usage: accuracy.sh SHARDSIM SOURCE_DIR [RESULTS]     RESULTS: of shared_results.sh
set -euo pipefail
binary=$(realpath "$1") root=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shared=${3:+$(realpath "$3")}
cd "$root"
[ -n "$shared" ] || { shared=$work/shared; bash tests/shared_results.sh "$binary" . "$shared"; }
ln -s "$shared/published" "$work/published"
ln -s "$shared/crosscheck" "$work/cross1"
"$binary" run scenarios/flexshard.yaml -o "$work/study" -q >/dev/null
/usr/bin/python3 scripts/accuracy.py "$work/study/result.json" | grep . >"$work/lines.txt"
[ "$(wc -l <"$work/lines.txt")" -gt 80 ] || { echo "the study gives only $(wc -l <"$work/lines.txt") lines"; exit 1; }
"$binary" run scenarios/a100_iterations.yaml -o "$work/iterations" -q >/dev/null
"$binary" run scenarios/a100_iterations.yaml --set cluster.gpu.kernel_overhead="3 us" -o "$work/unfitted" -q >/dev/null
/usr/bin/python3 scripts/accuracy_iterations.py "$work/iterations/result.json" "$work/unfitted/result.json" >"$work/whole.txt"
grep . "$work/whole.txt" >>"$work/lines.txt"
[ "$(wc -l <"$work/whole.txt")" -ge 26 ] || { echo "the iterations give only $(wc -l <"$work/whole.txt") lines"; exit 1; }
/usr/bin/python3 scripts/accuracy_sources.py "$work/published/result.json" | grep . >"$work/sources.txt"
cat "$work/sources.txt" >>"$work/lines.txt"
[ "$(wc -l <"$work/sources.txt")" -gt 40 ] || { echo "the published iterations give only $(wc -l <"$work/sources.txt") lines"; exit 1; }
"$binary" collective compare --measurements scenarios/measurements/open -o "$work/collectives" >/dev/null 2>&1
"$binary" collective compare --calibrated --measurements scenarios/measurements/open -o "$work/calibrated" >/dev/null 2>&1
"$binary" compute compare --measurements scenarios/measurements/kernels -o "$work/kernels" >/dev/null 2>&1
cat "$work/collectives/accuracy.md" "$work/calibrated/accuracy.md" "$work/kernels/accuracy.md" | grep . >"$work/more.txt"
[ "$(wc -l <"$work/more.txt")" -gt 135 ] || { echo "the comparison gives only $(wc -l <"$work/more.txt") lines"; exit 1; }
status=0
lacking() {  # DOCUMENT LINES...
  while IFS= read -r line; do
    grep -qxF -- "$line" "$1" || { echo "$1 lacks: $line"; status=1; }
  done < <(cat "${@:2}")
}
for file in shards_h100 shards_h200 grid_h100 grid_h200; do
  "$binary" compute compare --measurements "scenarios/measurements/fbgemm/$file.csv" --workload metasyn_856 -o "$work/fused_$file" >/dev/null 2>&1
done
scripts/fused_call_tables.py "$work"/fused_{shards_h100,shards_h200,grid_h100,grid_h200}/comparison.json >"$work/fused.txt"
[ "$(wc -l <"$work/fused.txt")" -eq 14 ] || { echo "fused calls give $(wc -l <"$work/fused.txt") lines, not 14"; exit 1; }
lacking docs/accuracy.md "$work/lines.txt" "$work/more.txt" "$work/fused.txt"

one=scenarios/measurements/one_gpu
"$binary" run scenarios/one_gpu.yaml -o "$work/one" -q >/dev/null 2>&1
scripts/one_gpu_tables.py "$work/one/result.json" | grep . >"$work/one.txt"
for gpu in h100 h200; do
  "$binary" cluster calibrate --cluster "dgx_$gpu" --measurements "$one/$gpu/grid.csv" -o "$work/$gpu.yaml" >/dev/null 2>&1
  "$binary" run scenarios/one_gpu.yaml --case "$gpu/*" --set cluster="$work/$gpu.yaml" --set cluster.nodes=1 \
    --set cluster.gpu.count=1 --set "compute_model={name: roofline}" -o "$work/roofline_$gpu" -q >/dev/null 2>&1
  "$binary" run scenarios/one_gpu.yaml --case "$gpu/*" --set "compute_model={name: measured, file: $root/$one/$gpu/grid.csv}" \
    -o "$work/measured_$gpu" -q >/dev/null 2>&1
  "$binary" compute compare --measurements "$one/$gpu/grid.csv" -o "$work/grid_$gpu" >/dev/null 2>&1
  scripts/one_gpu_tables.py "$work/roofline_$gpu/result.json" "roofline, calibrated" | grep . >>"$work/one.txt"
  scripts/one_gpu_tables.py "$work/measured_$gpu/result.json" measured | grep . >>"$work/one.txt"
  grep 'all sizes' "$work/grid_$gpu/accuracy.md" >>"$work/one.txt"
done
[ "$(wc -l <"$work/one.txt")" -gt 70 ] || { echo "single GPUs give only $(wc -l <"$work/one.txt") lines"; exit 1; }
lacking docs/one_gpu.md "$work/one.txt"
/usr/bin/python3 scripts/accuracy_bounds.py docs/accuracy.md "$work/published/result.json" "$work/one/result.json" \
  "$work/collectives/accuracy.md" "$work/calibrated/accuracy.md" "$work/lines.txt"

/usr/bin/python3 scripts/accuracy_summary.py "$work/study/result.json" "$work/published/result.json" "$work/one/result.json" \
  "$work/collectives/accuracy.md" >"$work/summary.txt"
[ "$(wc -l <"$work/summary.txt")" -eq 7 ] || { echo "the summary has not five rows"; exit 1; }
lacking README.md "$work/summary.txt"
lacking docs/accuracy.md "$work/summary.txt"

"$binary" run scenarios/flexshard.yaml --set load.row_shares=even -o "$work/study_even" -q >/dev/null
"$binary" run scenarios/hstu.yaml -o "$work/hstu" -q >/dev/null
"$binary" collective compare --fits none --measurements scenarios/measurements/open -o "$work/plain" >/dev/null 2>&1
"$binary" compute compare --compute-model roofline --measurements scenarios/measurements/kernels -o "$work/roofline" >/dev/null 2>&1
cross_checks() {
  printf '%s\n' 101 seed=101  # seed 1 is the file's own
  [ "${SHARDSIM_ALL_CROSS_CHECKS:-0}" = 1 ] || return 0
  printf '%s\n' 201 seed=201 301 seed=301 _free 'planner={name: random}' _rates 'cross_check.topology={rates: torchrec}' \
    _tables 'planner={name: random, sharding_types: [table_wise, column_wise, table_column_wise]}'
}
cross_checks | xargs -d '\n' -n 2 -P 2 bash -c '"$0" run scenarios/torchrec_crosscheck.yaml --set "$3" -o "$1/cross$2" -q >/dev/null' "$binary" "$work"
scripts/accuracy_prose.py "$work" || status=1
exit "$status"
