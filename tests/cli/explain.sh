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
check "it is in no figure" [ "$(grep -c 'copies' streams/out)" -eq 1 ]
run explain plan.json --json
check "JSON lists it" python3 -c '
import json
plan = json.load(open("streams/out"))
assert [t["fqn"] == "model.sparse.ebc.copies" for t in plan["tables_of_unknown_size"]] == [True]
assert plan["tables"][0]["fqn"] == "model.sparse.ebc.rows"
assert len(plan["tables"]) == len(plan["statistics"]["tables"]) == 1
assert plan["statistics"]["ranks"][0]["shards"] == {"RW": 1}'
refuse 2 'argument --case: a plan file alone' explain plan.json --case x
refuse 2 'argument --seed: a plan file alone' explain plan.json --seed 3
refuse 2 'argument --set: a plan file alone' explain plan.json --set cluster.nodes=2
refuse 2 'argument --memory-model: a plan file alone' explain plan.json --memory-model paper
sed 's#rank:1/cuda:1#rank:1/cpu#' plan.json >mixed.json
refuse 2 'mixed.json:4: .*fused_uvm' explain mixed.json
refuse 2 'mixed.json:4: .*fused_uvm' check mixed.json

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
  refuse 2 "plan.json:5: table 'copies' has replicated rows" $command scenario.yaml
done
sed 's/^plan:.*/planner: {name: torchrec}/; s/rows: 10,/rows: 100000000000,/' scenario.yaml >large.yaml
refuse 3 "large.yaml:1:1: case 'main'" explain large.yaml

finish 14
