#!/usr/bin/env bash
# shardsim compute compare and fit, end to end: the published kernels, fused calls, the figures under their names, exit codes, and one clear
# line for what cannot be compared. Usage: compute_compare.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
kernels=$source/scenarios/measurements/kernels

# compare ARGUMENT...: of k.csv.
compare() { run compute compare --measurements k.csv -o out "$@"; }
# refused PATTERN ARGUMENT...: k.csv as it lies there is refused.
refused() {
  local pattern=$1
  shift
  refuse 2 "$pattern" compute compare --measurements k.csv -o out "$@"
}
columns=id,quality,gpu,op,num_tables,rows_per_table,dim_elements,batch_size_samples,pooling_factor_lookups_per_sample,weight_dtype,optimizer,index_distribution,cache_state,time_us,derived_row_traffic_bytes
# rows TEXT: k.csv with these rows.
rows() { printf '%s\n%b' "$columns" "$1" >k.csv; }
good='a,A,NVIDIA V100,tbe_fwd,8,1000000,64,2048,100,fp32,none,uniform,,520,\n'

echo "-- the published kernels"
run compute compare --measurements "$kernels" --json -o out
check "they are compared: $(cat streams/err)" [ "$code" -eq 0 ]
check "nothing on stderr" [ ! -s streams/err ]
check "stdout is the file" cmp -s streams/out out/comparison.json
for key in median_abs_error_pct p95_abs_error_pct worst_abs_error_pct signed_error_pct; do
  check "figures have $key" grep -qE "\"$key\": -?[0-9.]+,$" streams/out
done
all=$(cat "$kernels"/*.csv | grep -cv '^id,')
check "every row is predicted or says why not" [ "$(wc -l <out/predictions.csv)" -eq "$((all + 1))" ]
check "the page has charts or says why not" grep -qE 'data-chart=|not drawn: vega.js is not beside' out/report.html
cp out/comparison.json out/predictions.csv out/report.html .
run compute compare --measurements "$kernels" --json -o out
for file in comparison.json predictions.csv report.html; do check "the same again: $file" cmp -s $file out/$file; done
rm -rf out comparison.json predictions.csv report.html
run compute compare --measurements "$kernels" -o out
check "tables name the GPU" grep -q '^B200-SXM-180GB' streams/out
check "and mark what a constant was fitted on" grep -q 'lookup, fitted on' streams/out
run compute compare --measurements "$kernels" --compute-model roofline -o out
check "by the roofline nothing is fitted" [ "$(grep -c 'fitted on' streams/out)" -eq 0 ]
rm -rf out

echo "-- one GPU of a cluster, constants of one's own"
rows "$good"
run compute compare --measurements "$kernels" --cluster dgx1_v100 -o out
check "other GPUs are out of the model" grep -q 'another GPU than that of the cluster' streams/out
rm -rf out
printf 'schema: shardsim.gpus/1\ngpus:\n  - {name: V100-SXM2-16GB, like: V100-SXM2-16GB, words: [V100], copy_bandwidth: 401 GB/s}\n' >mine.yaml
compare --json
of_shipped=$(grep predicted_us streams/out)
compare --json --gpus mine.yaml
check "half of the copy rate takes longer" [ "$of_shipped" != "$(grep predicted_us streams/out)" ]
check "the JSON names the file" grep -q '"constants": "scenarios/gpus/kernels.yaml, mine.yaml"' streams/out
rm -rf out

echo "-- fused calls of FBGEMM"
calls=$source/scenarios/measurements/fbgemm/shards_h200.csv
head -n 13 "$calls" >calls.csv
run compute compare --measurements calls.csv --workload metasyn_856 --json -o out
check "they are compared: $(cat streams/err)" [ "$code" -eq 0 ]
check "stdout is the file" cmp -s streams/out out/comparison.json
for key in median_abs_error_pct p90_abs_error_pct worst_abs_error_pct signed_error_pct; do
  check "figures have $key" grep -qE "\"$key\": -?[0-9.]+,?$" streams/out
done
check "every row is there" [ "$(wc -l <out/predictions.csv)" -eq 13 ]
# The second row as a scenario: `run` says the same of its tables.
shard=$(sed -n 3p calls.csv | cut -d, -f4)
{
  printf 'schema: shardsim.scenario/1\ntitle: one shard\ncluster: {base: %s, nodes: 1, gpu: {count: 1}}\n' "$source/scenarios/clusters/dgx_h200.yaml"
  printf 'compute_model: {name: gpu_kernels, kernels: fbgemm}\nplanner: {name: row_wise}\ncases:\n  - name: one\n'
  printf '    workload:\n      name: one\n      batch_per_gpu: %s\n      optimizer: {name: rowwise_adagrad}\n      tables:\n' "$(sed -n 3p calls.csv | cut -d, -f3)"
  for part in $shard; do
    grep -E "^  - \{name: t${part%:*}," "$source/scenarios/workloads/metasyn_856.yaml" | sed -E "s/dim: [0-9]+/dim: ${part#*:}/; s/^/      /"
  done
} >shard.yaml
run run shard.yaml -o one
check "the shard runs: $(head -n 1 streams/err)" [ "$code" -eq 0 ]
of_run() { python3 -c "
import json
for step in json.load(open('one/result.json'))['cases'][0]['compute']:
    if step['name'] == '$1_row_wise': print('%.3f' % (1e3 * step['total_ms']))"; }
# A shape has a comma of its own.
of_compare() { sed -n 3p out/predictions.csv | awk -F, -v column="$1" '{printf "%.3f\n", $column}'; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 <= (1e-3 * b) ^ 2) }'; }
check "run and compare say the same of the lookup: $(of_run lookup), $(of_compare 6)" near "$(of_run lookup)" "$(of_compare 6)"
check "and of the update: $(of_run update), $(of_compare 9)" near "$(of_run update)" "$(of_compare 9)"
run compute compare --measurements calls.csv --workload metasyn_856 --compute-model roofline -o out
check "another model predicts them, too" grep -q 'predicted by roofline' streams/out
run compute compare --measurements calls.csv --workload metasyn_856 --tolerance 0.001% -o out
check "outside the tolerance is 4, not $code" [ "$code" -eq 4 ]
refuse 2 'calls.csv:1: the rows name tables of a workload. Name it with --workload' compute compare --measurements calls.csv -o out
refuse 2 'argument --workload: .*nowhere' compute compare --measurements calls.csv --workload nowhere -o out
refuse 2 'cluster has A100' compute compare --measurements calls.csv --workload metasyn_856 --cluster dgx_a100_40gb -o out
refuse 2 'kernels' compute compare --measurements calls.csv --workload metasyn_856 --kernels torch -o out
sed '1s/set/sets/' calls.csv >wrong.csv
refuse 2 'wrong.csv:1: column set is missing' compute compare --measurements wrong.csv --workload metasyn_856 -o out
sed '1s/forward_us/fwdtime/' calls.csv >wrong.csv
refuse 2 'wrong.csv:1: column forward_us is missing\. If it has another name, rename it; unknown here: "fwdtime"' compute compare --measurements wrong.csv --workload metasyn_856 -o out
sed -E '3s/:(8|16|32|64|128)([ ,])/:66\2/' calls.csv >wrong.csv
refuse 2 'wrong.csv:3: the kernels fbgemm look up whole groups of 4 columns, but a table has 66' compute compare --measurements wrong.csv --workload metasyn_856 -o out
sed '1s/$/,more/; 2,$s/$/,1/' calls.csv >wrong.csv
refuse 2 'wrong.csv:1:.*unknown column "more"' compute compare --measurements wrong.csv --workload metasyn_856 -o out
sed -E 's/^(        - \{name: [a-z0-9]+, rows: [0-9]+, dim: )[0-9]+/\16/; s/^(      +- \{name: [a-z0-9]+, rows: [0-9]+, dim: )[0-9]+/\16/' shard.yaml >odd.yaml
refuse 2 "odd.yaml:[0-9]+.*the kernels fbgemm look up whole groups of 4 columns, but table 't[0-9]+' has 6" run odd.yaml -o one
sed 's/kernels: fbgemm/kernels: torch/' shard.yaml >odd.yaml
refuse 2 'odd.yaml:4:.*kernels.*fbgemm' run odd.yaml -o one
run compute fit --kernels fbgemm --workload metasyn_856 --measurements "$source/scenarios/measurements/fbgemm/grid_h100.csv" -o fitted.yaml
check "constants are fitted: $(cat streams/err)" [ "$code" -eq 0 ]
check "and say on what" grep -q 'fitted_on: \[fbgemm/grid_h100.csv\]' fitted.yaml
refuse 2 'argument --measurements: there is nothing to fit to' compute fit --kernels fbgemm -o fitted2.yaml
refuse 2 'grid_h200.csv: the rows are of H200' compute fit --kernels fbgemm --measurements "$source/scenarios/measurements/fbgemm/grid_h200.csv" -o fitted2.yaml
rm -rf out one calls.csv wrong.csv shard.yaml odd.yaml fitted.yaml

echo "-- tolerance"
compare
check "without a tolerance any error will do" [ "$code" -eq 0 ]
compare --tolerance 0.001% --json
check "outside the tolerance is 4, not $code" [ "$code" -eq 4 ]
check "and stderr says why" grep -qE '^error: outside the tolerance: the median error is .* %, 0.001 % are allowed' streams/err
compare --tolerance 50%
check "inside it is 0, not $code" [ "$code" -eq 0 ]
rm -rf out

echo "-- bad input"
refuse 2 'argument --measurements: the option is missing.*--measurements PATH' compute compare
refuse 2 'nowhere' compute compare --measurements nowhere
refuse 2 'argument --set: .*only together with --cluster' compute compare --measurements nowhere --set nix.foo=bar
mkdir empty
refuse 2 'empty: the folder holds no measurements. Put files there that end in .csv' compute compare --measurements empty
rmdir empty
refused 'compute-model' --compute-model planner
refused 'toy_2x4|toy' --cluster toy_2x4
refused 'cluster.*nowhere' --cluster nowhere
rows "${good/NVIDIA V100/}"
refused 'k.csv:2: the row names no GPU. Name it in column gpu, or write "not stated"'
rows "${good/NVIDIA V100/not stated}"
refused 'k.csv: no row can be predicted: its source names no GPU'
rows "${good/NVIDIA V100/RTX 5090}"
refused 'no constants of the GPU "RTX 5090"'
rows "${good/tbe_fwd/tbe_forwards}"
refused 'k.csv:2: unknown kind of operation "tbe_forwards". Known: tbe_fwd'
rows "${good/,520,/,-1,}"
refused 'k.csv:2: time_us is "-1"'
rows "${good/,520,/,soon,}"
refused 'k.csv:2: .*soon'
for time in 5e-324 1e-7 1e13; do
  rows "${good/,520,/,$time,}"
  refused "k.csv:2: time_us is \"$time\". Give a number from 1e-06 to 1e\+12"
done
rows "${good/,2048,/,1e300,}"
refused 'k.csv:2: batch_size_samples is "1e300". Give 0, or a number from 1 to 1e\+20'
rows "${good/,64,/,5e-324,}"
refused 'k.csv:2: dim_elements is "5e-324". Give 0, or a number from 1 to 1e\+09'
rows "${good/,100,/,1e-300,}"
refused 'k.csv:2: pooling_factor_lookups_per_sample is "1e-300". Give 0, or a number from 1e-06'
rows 'a,A,V100,tbe_fwd\n'
refused 'k.csv:2: the row has 4 cells'
rows ''
refused 'no row can be predicted: the table has no rows'
columns=${columns/time_us/time}
rows "$good"
refused 'k.csv:1: column time_us is missing. Name "time" as time_us: units are part of the name'
columns=${columns/time/time_us}
columns=${columns/,gpu,/,}
rows ''
refused 'k.csv:1: column gpu is missing'
columns=${columns/quality,/quality,gpu,}
rows "$good"
refused 'the option is of fused calls' --workload metasyn_856
refused 'the option is of fused calls' --kernels fbgemm
printf 'schema: shardsim.kernel_map/1\nout_of_model: [{reason: all}]\n' >map.yaml
refused 'map.yaml:2:.*the rule would cover every row' --map map.yaml
printf 'schema: shardsim.gpus/1\ngpus: [{name: mine, like: V101}]\n' >bad.yaml
refused 'bad.yaml:2:.*unknown GPU "V101".*V100-SXM2-16GB' --gpus bad.yaml
finish 72
