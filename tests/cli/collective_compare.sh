#!/usr/bin/env bash
# shardsim collective compare, end to end: the published timings, the figures under their names, exit
# codes, and one clear line for what cannot be compared. Usage: collective_compare.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
open=$source/scenarios/measurements/open

# compare ARGUMENT...: of m.csv with map.yaml.
compare() { run collective compare --measurements m.csv --clusters map.yaml -o out "$@"; }
# refused PATTERN: m.csv and map.yaml as they lie there are refused.
refused() { refuse 2 "$1" collective compare --measurements m.csv --clusters map.yaml -o out; }
# rows TEXT: m.csv with these rows.
rows() { printf 'system,nodes,gpus_per_node,collective,size_bytes,time_us\n%b' "$1" >m.csv; }
map() { printf 'schema: shardsim.clusters_map/1\n%b' "$1" >map.yaml; }

echo "-- the published timings"
run collective compare --measurements "$open" --json -o out
check "the open set is compared: $(cat streams/err)" [ "$code" -eq 0 ]
check "nothing on stderr" [ ! -s streams/err ]
for key in rows systems median_abs_error_pct_below_64KiB median_abs_error_pct_64KiB_to_1MiB \
  median_abs_error_pct_from_1MiB p95_abs_error_pct_from_1MiB signed_error_pct_from_1MiB out_of_model_rows; do
  check "overall has $key" grep -qE "^  \"$key\": -?[0-9.]+,$" streams/out
done
check "stdout is the file" cmp -s streams/out out/comparison.json
check "2294 rows are predicted" [ "$(wc -l <out/predictions.csv)" -eq 2295 ]
check "the page has charts or says why not" grep -qE 'data-chart=|not drawn: vega.js is not beside' out/report.html
cp out/comparison.json out/predictions.csv out/report.html .
run collective compare --measurements "$open" --json -o out
for file in comparison.json predictions.csv report.html; do check "the same again: $file" cmp -s $file out/$file; done
rm -rf out comparison.json predictions.csv report.html

echo "-- tolerance"
map 'systems: {box: toy_2x4}\n'
rows 'box,2,4,all_reduce,67108864,1\n'
compare
check "without a tolerance any error will do" [ "$code" -eq 0 ]
compare --tolerance 10% --json
check "outside the tolerance is 4, not $code" [ "$code" -eq 4 ]
check "the object is complete" [ "$(tail -n 1 streams/out)" = "}" ]
check "and stderr says why" grep -qE '^error: outside the tolerance: the median error is .* %, 10 % are allowed' streams/err
compare --tolerance 1e9%
check "inside it is 0, not $code" [ "$code" -eq 0 ]
rm -rf out
refuse 2 'argument --tolerance: .*10%|argument --tolerance: "10"' collective compare --measurements m.csv --clusters map.yaml --tolerance 10 -o out

refuse 2 'argument --tolerance: "-5%" is below 0' collective compare --measurements m.csv --clusters map.yaml --tolerance -5% -o out
refuse 2 'argument --system: no row is of "crate"' collective compare --measurements m.csv --clusters map.yaml --system crate -o out
refuse 2 'argument --kind: no row is of "broadcast"' collective compare --measurements m.csv --clusters map.yaml --kind broadcast -o out
compare --system box --kind all_reduce
check "what the table says too may be said again" [ "$code" -eq 0 ]
rm -rf out

echo "-- the map by itself"
run check map.yaml
check "check knows a system map: $(cat streams/err)" grep -qx 'map.yaml: system map, 1 system: ok' streams/out
run check "$source/scenarios/measurements/systems.yaml"
check "and the shipped one: $(cat streams/err)" [ "$code" -eq 0 ]
map 'systems: {box: {cluster: toy_2x4, set: {gpu.coont: 3}}}\n'
refuse 2 'coont' check map.yaml
map 'systems: {box: toy_2x4}\n'

echo "-- the same time as collective predict gives"
compare --json
predicted=$(sed -n '2s/^[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,\([^,]*\),.*/\1/p' out/predictions.csv)
run collective predict --cluster toy_2x4 --nodes 2 --kind all_reduce --sizes 64MiB
check "$predicted us is what predict says: $(grep 67108864 streams/out)" \
  awk -v us="$predicted" '$1 == 67108864 {for (i = 2; i <= NF; ++i) if ($i > us * 0.99 && $i < us * 1.01) found = 1} END {exit !found}' streams/out
rm -rf out

echo "-- output of nccl-tests"
cp "$source/tests/fuzz/seeds/measurements/all_reduce.txt" box.log
run collective compare --measurements box.log --clusters map.yaml -o out
check "a log is compared: $(cat streams/err)" [ "$code" -eq 0 ]
check "rows of size 0 are noted" grep -q 'note: box.log: 1 rows of size 0 left out' streams/err
refuse 2 "box.log:[0-9]+: the output, or the file's name, says all_reduce; --kind says all_to_all" \
  collective compare --measurements box.log --clusters map.yaml -o out2 --kind alltoall
grep -v 'Collective test starting' box.log >silent.log
run collective compare --measurements silent.log --system box --clusters map.yaml -o out --kind broadcast --json
check "--kind says what the log does not" grep -q '"collective": "broadcast"' streams/out
refuse 2 'argument --kind: unknown collective "alltowall"' collective compare --measurements box.log --kind alltowall -o out2
refuse 2 'system "box" is missing from the map scenarios/measurements/systems.yaml' collective compare --measurements box.log -o out2
(printf '\xef\xbb\xbf' && cat "$source/tests/fuzz/seeds/measurements/alltoall.json") >alltoall.json
refuse 2 'alltoall.json:3:[0-9]+: system "alltoall" is missing from the map' collective compare --measurements alltoall.json --clusters map.yaml -o out2
: >empty.json
refuse 2 'empty.json: the file is empty' collective compare --measurements empty.json --clusters map.yaml -o out2
rm -rf out box.log silent.log

echo "-- bad input"
refuse 2 'argument --measurements: the option is missing.*--measurements PATH' collective compare
refuse 2 'nowhere' collective compare --measurements nowhere
refuse 2 'compare writes a folder' collective compare --measurements m.csv -o -
rows 'crate,2,4,all_reduce,8,1\n'
refused 'm.csv:2: system "crate" is missing from the map map.yaml'
rows 'box,2,4,all_reduce,8,1\nbox,2,4,all_reduce,8,soon\n'
refused 'm.csv:3: column time_us: "soon" is not a finite decimal number'
rows 'box,2,4,all_reduce,0,1\n'
refused 'm.csv:2: column size_bytes is 0'
rows 'box,2,4,all_reduce,9223372036854775809,1\n'
refused 'm.csv:2: column size_bytes: .*too large'
rows 'box,2,4,all_reduced,8,1\n'
refused 'm.csv:2: unknown collective "all_reduced". Did you mean'
rows 'box,2,8,all_reduce,8,1\n'
refused 'm.csv:2: 8 GPUs per node. Cluster "toy_2x4" has 4'
rows 'box,2,4,all_reduce,8\n'
refused 'm.csv:2: the row has 5 cells'
rows ''
refused 'no row has both a size and a time'
printf 'system,nodes,gpus_per_node,collective,size_bytes,time\nbox,1,4,all_reduce,8,9\n' >m.csv
refused 'm.csv:1: column time_us is missing. Name "time" as time_us'
rows 'box,2,4,all_reduce,8,1\n'
map 'systems: {box: {cluster: toy_2x5}}\n'
refused 'map.yaml:2:.*toy_2x5'
map 'systems: {box: toy_2x4}\nout_of_model: [{system: crate, reason: bad}]\n'
refused 'map.yaml:3:.*unknown system "crate"'
finish 40
