#!/usr/bin/env bash
# shardsim explain: plan files alone, what is refused, what the text and the JSON hold.
# Usage: explain.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

said() { grep -qE -- "$1" streams/out; }

echo "-- a plan file alone"
cat >plan.json <<'END'
{"plan": {"model.sparse.ebc": {
"rows": {"sharding_type": "row_wise", "ranks": [0, 1], "shards": [
{"shard_offsets": [0, 0], "shard_sizes": [5, 8], "placement": "rank:0/cuda:0"},
{"shard_offsets": [5, 0], "shard_sizes": [5, 8], "placement": "rank:1/cuda:1"}]},
"copies": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1]}}}}
END
run explain plan.json
check "a plan file is explained" [ "$code" -eq 0 ]
check "what has no size is said to have none" said '1 data_parallel table'
check "TorchRec's GB are said to be GiB" said '^TorchRec writes GB for these GiB'
check "and units are the right ones" [ "$(grep -c '[0-9(]GB\|[0-9] GB\|(MB)' streams/out)" -eq 0 ]
check "it is in no figure" [ "$(grep -c 'copies' streams/out)" -eq 1 ]
run explain plan.json --json
check "JSON lists it" python3 -c '
import json
plan = json.load(open("streams/out"))
assert [t["fqn"] == "model.sparse.ebc.copies" for t in plan["tables_of_unknown_size"]] == [True]
assert plan["tables"][0]["fqn"] == "model.sparse.ebc.rows"
assert len(plan["tables"]) == len(plan["statistics"]["tables"]) == 1
assert plan["statistics"]["ranks"][0]["shards"] == {"RW": 1}'
cat >twice.json <<'END'
{"plan": {
"model.users": {"id": {"sharding_type": "data_parallel", "ranks": [0, 1]}},
"model.items": {"id": {"sharding_type": "data_parallel", "ranks": [0, 1]}, "seller": {"sharding_type": "table_wise", "ranks": [1],
"shards": [{"shard_offsets": [0, 0], "shard_sizes": [5, 8], "placement": "rank:1/cuda:1"}]}}}}
END
run explain twice.json
check "tables of one name have their modules before it, once" said 'Not counted: 2 data_parallel tables .model.users.id, model.items.id.'
refuse 2 'argument --case: this option needs a scenario' explain plan.json --case x
refuse 2 'argument --seed: this option needs a scenario' explain plan.json --seed 3
refuse 2 'argument --set: this option needs a scenario' explain plan.json --set cluster.nodes=2
refuse 2 'argument --memory-model: without a scenario, a plan file' explain plan.json --memory-model paper
sed 's#rank:1/cuda:1#rank:1/cpu#' plan.json >mixed.json
refuse 2 'mixed.json:4:[0-9]+: .*fused_uvm' explain mixed.json
refuse 2 'mixed.json:4:[0-9]+: .*fused_uvm' check mixed.json

sed -e 's#/cuda:."#/cpu"#; s#"row_wise",#"row_wise", "compute_kernel": "fused_uvm",#' -e '/^"copies"/d; s/]},$/]}}}}/' plan.json >cpus.json
refuse 2 "cpus.json:2:[0-9]+: table 'rows': kernel fused_uvm has no bandwidth on cpu" explain cpus.json

echo "-- places"
cat >scenario.yaml <<'END'
schema: shardsim.scenario/1
cluster: {base: toy_2x4, nodes: 1}
workload:
  name: w
  batch_per_gpu: 64
  tables:
    - {name: rows, rows: 10, dim: 8, kind: pooled}
    - {name: copies, rows: 10, dim: 8, kind: pooled}
plan: {file: plan.json}
END
for command in explain run check "plan"; do
  refuse 2 "plan.json:5:[0-9]+: table 'copies' has replicated rows" $command scenario.yaml
done
{ sed 's/plan.json/kept.json/' scenario.yaml && echo 'constraints: {rows: {sharding_types: [table_wise]}}'; } >kept.yaml
jq '.plan |= map_values(del(.copies))' plan.json >kept.json
sed -i '/name: copies/d' kept.yaml
for command in explain run "explain --memory-model paper"; do
  refuse 2 "kept.yaml:9:21: the plan of the file violates the constraints: table 'rows'" $command kept.yaml
done
sed 's/^plan:.*/planner: {name: torchrec}/; s/rows: 10,/rows: 100000000000,/' scenario.yaml >large.yaml
refuse 3 "large.yaml:1:1: case 'main'" explain large.yaml
sed 's/toy_2x4, nodes: 1/emulated_2x4/; /name: copies/d; s/plan.json/cpus.json/' scenario.yaml >cpus.yaml
refuse 2 "cpus.json:2:[0-9]+: table 'rows': kernel fused_uvm has no bandwidth on cpu" explain cpus.yaml

echo "-- modules, flex and tiers"
sed 's/^plan:.*/planner: {name: flex}/; s/nodes: 1/nodes: 2/' scenario.yaml >flex.yaml
run explain flex.yaml
check "flex is called flex" said '^ebc.rows and 1 other: flex, dense'
check "times are said to be an estimate, with the command that simulates" \
  grep -q "not a simulation; 'shardsim run flex.yaml --case main' simulates it" <(tr '\n' ' ' <streams/out)
check "equal tables are one entry" [ "$(grep -c '^ebc.copies' streams/out)" -eq 0 ]
check "equal ranks are one line" said '^0-7 '
check "no line is wider than 100 columns" [ "$(awk 'length > 100' streams/out | wc -l)" -eq 0 ]
check "imbalance is named" said '^Imbalance of .*KL divergence'
run explain flex.yaml --json
check "JSON has each table and rank, as flex" python3 -c '
import json
plan = json.load(open("streams/out"))
assert [t["sharding_type"] for t in plan["tables"]] == ["flex", "flex"]
assert [r["shards"] for r in plan["statistics"]["ranks"]] == [{"FLEX": 2}] * 8'
run explain flex.yaml --table copies
check "--table leaves one table" said '^ebc.copies: flex'
check "--table leaves the others out" [ "$(grep -c 'ebc.rows\|peak HBM' streams/out)" -eq 0 ]
refuse 2 "argument --table: .*Known: copies, rows|argument --table: .*rows" explain flex.yaml --table row
refuse 2 'argument --set memory_model.mp_dynamic_copies: bytes are counted by the memory model torchrec' explain "$source/scenarios/toy.yaml" --case row_wise --set memory_model.mp_dynamic_copies=5
run explain "$source/scenarios/toy.yaml" --case flexshard_3tier --memory-model paper
check "our own tables write GiB: $(head -c 200 streams/out streams/err)" said 'Static .GiB.  *Dynamic .GiB.  *HBM .GiB.'
check "and no GB" [ "$(grep -c GB streams/out)" -eq 0 ]
run explain "$source/scenarios/toy.yaml" --case flexshard_3tier
check "tiers are named by their rows" said ' rows 0-[0-9]+: data_parallel, dense'

echo "-- rates of TorchRec's planner for a plan that somebody else made"
run explain flex.yaml --json
own=$(cat streams/out)
run explain flex.yaml --rates cluster --json
check "the cluster's are the default" [ "$own" = "$(cat streams/out)" ]
run explain flex.yaml --rates torchrec --json
check "TorchRec's are other ones: $(cat streams/err)" [ "$code" -eq 0 -a "$own" != "$(cat streams/out)" ]
sed 's/^planner:.*/planner: {name: torchrec, topology: {rates: torchrec}}/' flex.yaml >rates.yaml
run plan rates.yaml -o rates.json
run explain rates.yaml --json
by_planner=$(jq -c .statistics streams/out)
sed 's/^planner:.*/plan: {file: rates.json}/' flex.yaml >given.yaml
run explain given.yaml --rates torchrec --json
check "and those that its planner has for its own plan" [ "$(jq -c .statistics.ranks streams/out)" = "$(jq -c .ranks <<<"$by_planner")" ]
refuse 2 'argument --rates: .*needs a scenario' explain rates.json --rates torchrec
refuse 2 'argument --rates: only the memory model torchrec estimates times' explain given.yaml --rates torchrec --memory-model paper

echo "-- load factor of a cache"
factor() {
  cat >cached.yaml <<END
schema: shardsim.scenario/1
cluster: {base: toy_2x4, nodes: 1}
workload:
  name: w
  batch_per_gpu: 64
  tables: [{name: t, rows: 100000, dim: 8, kind: pooled}]
planner: {name: torchrec, version: "${2:-2026-08}", constraints: {t: {compute_kernels: [fused_uvm_caching], cache_load_factor: $1}}}
END
}
for share in 0.25 0.5 1.0; do
  factor $share "$([ "$share" = 1.0 ] && echo 2025-10)"  # a cache of all rows fails the check of 2026-08
  run plan cached.yaml
  check "the plan has load factor $share" python3 -c "
import json
entry = json.load(open('streams/out'))['plan']['ebc']['t']
assert entry['cache_params'] == {'load_factor': $share}, entry"
  mv streams/out cached.json
  sed 's/^planner:.*/plan: {file: cached.json}/' cached.yaml >from_file.yaml
  run explain from_file.yaml --json
  check "explain sees load factor $share" python3 -c "
import json
table = json.load(open('streams/out'))
assert table['statistics']['tables'][0]['cache_load_factor'] == $share
tensor = sum(s['shards'] * s['tensor_bytes']['hbm'] for s in table['tables'][0]['shards'])
assert tensor == $share * 100000 * 8 * 4, tensor"
  run lower from_file.yaml
  check "a program with load factor $share" [ "$code" -eq 0 ]
  mv streams/out "program_$share.json"
done
check "a larger cache misses less, one of all rows nothing" python3 -c '
import json
def missed(share):
    ops = json.load(open(f"program_{share}.json"))["ops"]
    return sum(op.get("host_bytes", 0) for op in ops if "prefetch" in op["name"])
assert missed("0.25") > missed("0.5") > missed("1.0") == 0, [missed(s) for s in ("0.25", "0.5", "1.0")]'
for wrong in 0 1.5 -0.2; do
  factor $wrong
  refuse 2 'cached.yaml:7:.*cache_load_factor' plan cached.yaml
done
factor 1.0
refuse 2 "version 2026-08 refuses the plan that it found: table 't': kernel fused_uvm_caching" plan cached.yaml

echo "-- versions of the planner"
sed 's/^planner:.*/planner: {name: torchrec, constraints: {t: {compute_kernels: [key_value], max_l1_cache_size: 1 MiB}}}/' cached.yaml >ssd.yaml
run explain ssd.yaml
check "the newest version is said" said '^Rules: TorchRec.s planner of 2026-08 .commit 376cac6a.'
check "an SSD has a column: $(head -c 2000 streams/out)" said '^Table .*SSD .GiB.'
check "weights of a kernel stand apart" said '^embedding weights, key_value'
check "constrained kernels are counted" said '^kernels by constraints  *1 .key_value 1., chosen 0'
run explain ssd.yaml --json
check "JSON says the version, and what lies on the SSD" python3 -c '
import json
document = json.load(open("streams/out"))
assert document["planner_version"] == "2026-08"
kernel = document["statistics"]["kernels"][0]
rows, dim, fp32, ratio = 100000, 8, 4, 0.2
aux, tensor = round(rows * (4 + 16 * ratio)), rows * dim * fp32
state = -(-tensor // dim)
shards = document["tables"][0]["shards"]
assert sum(s["shards"] * s["ssd_bytes"] for s in shards) in range(aux + tensor + state, aux + tensor + state + 9)
assert kernel["weights_gb"] == round(tensor / 2**30, 3) and kernel["ssd_gb"] > kernel["weights_gb"]
assert document["statistics"]["kernel_constraints"] == {"hardcoded": 1, "auto_selected": 0, "hardcoded_by_kernel": {"key_value": 1}}'
run explain ssd.yaml --set planner.version=2025-10 --json
check "the older version knows no SSD" python3 -c '
import json
document = json.load(open("streams/out"))
assert document["planner_version"] == "2025-10"
assert "ssd_gb" not in document["statistics"]["kernels"][0] and "kernel_constraints" not in document["statistics"]
assert all(s["ssd_bytes"] == 0 for s in document["tables"][0]["shards"])'
run explain plan.json
check "a plan file alone follows the newest" said '^Rules: TorchRec.s planner of 2026-08'
sed 's/^planner:.*/memory_model: {name: torchrec, version: "2025-10"}\nplan: {file: cached.json}/' cached.yaml >old_rules.yaml
run explain old_rules.yaml
check "a given plan follows the version of the memory model" said '^Rules: TorchRec.s planner of 2025-10 .commit a48cef79.'

echo "-- published statistics of TorchRec's planner"
# TorchRec prints these of the plan of its own benchmark on two A100 (pytorch/torchrec PR 3743, 3745 and 3807); bags of 30 ids
# there, of 29.5 in the shipped workload, which is that of later runs.
cat >published.yaml <<'END'
schema: shardsim.scenario/1
cluster: {base: aws_p4de, nodes: 1, gpu: {count: 2}}
workload: {base: torchrec_train_pipeline, pipeline: none}
memory_model: {name: torchrec}
planner: {name: torchrec, topology: {rates: torchrec}}
constraints: {wide: {sharding_types: [column_wise], compute_kernels: [fused]}, "*": {sharding_types: [table_wise], compute_kernels: [fused]}}
END
bags=()
for path in table half wide weighted.features.weighted; do bags+=(--set "workload.tables.$path.pooling_factor=30"); done
run explain published.yaml "${bags[@]}"
check "the plan of the benchmark: $(cat streams/err)" [ "$code" -eq 0 ]
for line in 'maximum of total perf +704.985 ms' 'mean of total perf +701.616 ms' 'sparse only: most HBM +19.018 GiB' \
  'sparse only: least HBM +18.846 GiB' 'compute kernel fused +172 tables, HBM 37.864 GiB' 'most HBM +45.39 GiB' \
  'least HBM +45.218 GiB' 'dense part per rank +HBM 1.177 GiB' 'ids of batches .KJT. per rank +HBM 25.195 GiB'; do
  check "as published: $line" said "^$line"
done
"$shardsim" explain published.yaml "${bags[@]}" >brief.txt 2>streams/err
check "the first screen says what 'run' leaves out: $(grep HBM brief.txt)" \
  grep -qE "^most HBM, tables alone +19.018 GiB, as in 'run' \(1.177 dense part and 25.195 ids apart\)" brief.txt

finish 46
