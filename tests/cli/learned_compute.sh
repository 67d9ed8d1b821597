#!/usr/bin/env bash
# The compute model `learned`: what `run` says with it, what it tells of its labels, what it refuses, and how it is judged.
# Usage: learned_compute.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 <= (1e-3 * b) ^ 2) }'; }
calls=$source/scenarios/measurements/fbgemm/shards_h100.csv
costs=$source/scenarios/costs/h100_fbgemm.h5

# scenario FILE SHARD BATCH: the row of a table of calls as a case on one GPU.
scenario() {
  printf 'schema: shardsim.scenario/1\ntitle: one shard\ncluster: {base: %s, nodes: 1, gpu: {count: 1}}\n' "$source/scenarios/clusters/dgx_h100.yaml"
  printf 'compute_model: {name: learned}\nplanner: {name: row_wise}\ncases:\n  - name: one\n'
  printf '    workload:\n      name: one\n      batch_per_gpu: %s\n      optimizer: {name: rowwise_adagrad}\n      tables:\n' "$3"
  for part in $2; do
    grep -E "^  - \{name: t${part%:*}," "$source/scenarios/workloads/metasyn_856.yaml" | sed -E "s/dim: [0-9]+/dim: ${part#*:}/; s/^/      /"
  done
}

echo "-- run"
awk 'NR == 1 || (/,a_b8192,/ && ++rows <= 60)' "$calls" >calls.csv
scenario one "$(sed -n 3p calls.csv | cut -d, -f4)" "$(sed -n 3p calls.csv | cut -d, -f3)" >shard.yaml
run run shard.yaml -o one
check "the shard runs: $(head -n 1 streams/err)" [ "$code" -eq 0 ]
text=$(tr -s ' \n' ' ' <streams/out)
holds() { case "$text" in *"$1"*) ;; *) return 1 ;; esac; }
check "it says what the nets learned from" holds 'nets that learned from labels (fbgemm on H100-SXM5-80GB (several batches, rowwise_adagrad, fp32); 5449 calls of'
check "and by which sets" holds 'sets single15_b65536'
check "and how far they are off" holds 'calls held back lookups are off by'
check "and what else there is" holds 'is timed as by the compute model gpu_kernels'
check "nothing is beyond the labels" eval '! holds "have seen nothing like"'
of_run() { python3 -c "
import json
for step in json.load(open('one/result.json'))['cases'][0]['compute']:
    if step['name'] == '$1_row_wise': print('%.3f' % (1e3 * step['total_ms']))"; }

echo "-- compute compare judges it by the calls that no training looks at"
run compute compare --measurements calls.csv --workload metasyn_856 --compute-model learned --json -o out
check "they are compared: $(cat streams/err)" [ "$code" -eq 0 ]
check "the model is named" grep -q '"compute_model": "learned, costs auto"' streams/out
of_compare() { sed -n 3p out/predictions.csv | awk -F, -v column="$1" '{printf "%.3f\n", $column}'; }
check "run and compare say the same of the lookup: $(of_run lookup), $(of_compare 6)" near "$(of_run lookup)" "$(of_compare 6)"
check "and of the update: $(of_run update), $(of_compare 9)" near "$(of_run update)" "$(of_compare 9)"
fitted=$(grep -c ',yes$' out/predictions.csv) judging=$(grep -c ',no$' out/predictions.csv)
check "most calls may have taught it ($fitted), the others judge ($judging)" [ "$fitted" -gt "$judging" -a "$judging" -gt 5 ]
# The same calls judge as in cost-model evaluate.
run cost-model evaluate "$costs" calls.csv --workload metasyn_856
of_evaluate=$(grep 'forward' streams/out | awk '{print $(NF - 2)}')
of_judging=$(python3 -c "
import json
print('%.2f' % json.load(open('out/comparison.json'))['sets'][0]['judging']['median_abs_error_pct'])")
check "the median is that of cost-model evaluate: $of_judging, $of_evaluate" awk -v a="$of_judging" -v b="$of_evaluate" 'BEGIN { exit !((a - b) ^ 2 < 0.01) }'
refuse 2 'argument --costs: the option is of the compute model learned alone' compute compare --measurements calls.csv --workload metasyn_856 --costs "$costs" -o out
refuse 2 'nowhere.h5' compute compare --measurements calls.csv --workload metasyn_856 --compute-model learned --costs nowhere.h5 -o out
refuse 2 'learned from times on H100-SXM5-80GB, and not of H200' compute compare --measurements "$source/scenarios/measurements/fbgemm/shards_h200.csv" --workload metasyn_856 --compute-model learned -o out
refuse 2 'argument --compute-model: nets predict fused calls alone' compute compare --measurements "$source/scenarios/measurements/kernels" --compute-model learned -o out

echo "-- beyond the labels"
run run shard.yaml --set workload.batch_per_gpu=131072 -o one --force
text=$(tr -s ' \n' ' ' <streams/out)
check "a larger batch is told with its bound: $(cat streams/err)" holds 'lookup_row_wise has 131072 samples (learned from 4096 to 65536)'
sed -E 's/(dim: )[0-9]+/\1512/' shard.yaml >wide.yaml
run run wide.yaml -o one --force
text=$(tr -s ' \n' ' ' <streams/out)
check "a wide table, too: $(cat streams/err)" eval "holds \"table 't\" && holds 'has 512 columns (learned from 4 to 256)'"
refuse 2 'shard.yaml:4:.*learned from times on H100-SXM5-80GB, and the cluster has A100' run shard.yaml --set cluster.gpu.model=A100-SXM4-80GB -o two
refuse 2 'shard.yaml:4:.*learned from updates by rowwise_adagrad, and the workload has adam' run shard.yaml --set workload.optimizer.name=adam -o two
sed -E 's/dim: /dtype: fp16, dim: /' shard.yaml >half.yaml
refuse 2 "half.yaml:[0-9]+.*table 't[0-9]+' has rows of fp16" run half.yaml -o two
sed -E 's/(dim: )[0-9]+/\16/' shard.yaml >odd.yaml
refuse 2 "odd.yaml:[0-9]+.*groups of 4 columns, but table 't[0-9]+' has 6" run odd.yaml -o two
sed -E 's/(dim: )[0-9]+/\16/; s/learned/gpu_kernels/' shard.yaml >odd.yaml
refuse 2 "odd.yaml:[0-9]+.*groups of 4 columns, but table 't[0-9]+' has 6" plan odd.yaml
refuse 2 'learned from the kernels fbgemm, and the case has hugectr' run shard.yaml --set software=hugectr_ebc -o two
sed 's/{name: learned}/{name: learned, costs: nowhere.h5}/' shard.yaml >missing.yaml
refuse 2 'nowhere.h5' run missing.yaml -o two
sed 's/{name: learned}/{name: learned, cost: auto}/' shard.yaml >unknown.yaml
refuse 2 'unknown.yaml:4:.*cost' run unknown.yaml -o two

echo "-- labels of another law"
sed -E '1s/$/,ids/; 2,$s/$/,access/' calls.csv >same.csv
run compute compare --measurements same.csv --workload metasyn_856 -o out --force
check "ids of the tables' own laws are taken: $(cat streams/err)" [ "$code" -eq 0 ]
sed -E '1s/$/,ids/; 2,$s/$/,uniform/' calls.csv >even.csv
refuse 2 "even.csv:2:.*drawn evenly over the rows, but table 't[0-9]+' is read by the law" cost-model train even.csv --workload metasyn_856 -o x.h5
refuse 2 "even.csv:2:.*drawn evenly over the rows" compute compare --measurements even.csv --workload metasyn_856 -o two
sed -E '1s/$/,ids/; 2,$s/$/,zipf/' calls.csv >unknown.csv
refuse 2 'unknown.csv:2:.*unknown law of ids "zipf"' cost-model train unknown.csv --workload metasyn_856 -o x.h5
awk -F, -v OFS=, 'NR > 1 {$5 = int(1.3 * $5)} {print}' calls.csv >longer.csv
refuse 2 'longer.csv:2:.*set "a_b8192" have 1.3 times the lookups .*another law' cost-model evaluate "$costs" longer.csv --workload metasyn_856
run cost-model sample nv_tiny -n 60 --batch 4096 -o shards.json
run cost-model label shards.json --cluster dgx_h100 -o labels.json
jq '.ids = "uniform"' labels.json >even.json
refuse 2 "even.json:[0-9]+.*drawn evenly over the rows, but table" cost-model train even.json -o x.h5
jq '.ids = "zipf"' labels.json >law.json
refuse 2 "law.json:[0-9]+.*ids" cost-model train law.json -o x.h5
finish 30
