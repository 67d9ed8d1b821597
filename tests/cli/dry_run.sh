#!/usr/bin/env bash
# shardsim plan --dry-run: TorchRec's planner on several machines in one command, each plan simulated beside its estimate.
# Usage: dry_run.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

said() { grep -qE -- "$1" streams/out; }

cat >case.yaml <<'END'
schema: shardsim.scenario/1
cluster: {base: toy_2x4, nodes: 2}
memory_model: {name: torchrec}
workload:
  name: w
  batch_per_gpu: 256
  tables:
    - {name: a, rows: 2000000, dim: 128, kind: pooled, features: [{name: a, pooling_factor: 20}]}
    - {name: b, rows: 50000, dim: 64, kind: pooled}
planner: {name: torchrec, proposers: [greedy, uniform]}
END

echo "-- machines beside each other"
run plan case.yaml --dry-run dgx_a100_80gb,hgx_h100_8x400g,polaris_a100
check "a dry run succeeds: $(cat streams/err)" [ "$code" -eq 0 ]
check "it says the version" said '^Dry run of TorchRec.s planner of 2026-08 .commit 376cac6a. for 8 GPUs'
check "each machine is a row: $(cat streams/out)" [ "$(grep -cE '^(dgx_a100_80gb|hgx_h100_8x400g|polaris_a100)  .*%' streams/out)" -eq 3 ]
check "no line is wider than 100 columns" [ "$(awk 'length > 100' streams/out | wc -l)" -eq 0 ]
run plan case.yaml --dry-run dgx_a100_80gb,hgx_h100_8x400g,polaris_a100 --json
mv streams/out dry.json
check "JSON has machines of as many GPUs, the same case" python3 -c '
import json
document = json.load(open("dry.json"))
assert document["schema"] == "shardsim.dry_run/1" and document["planner_version"] == "2026-08"
machines = document["machines"]
assert [(m["cluster"], m["nodes"], m["ranks"]) for m in machines] == [("dgx_a100_80gb", 1, 8), ("hgx_h100_8x400g", 1, 8), ("polaris_a100", 2, 8)]
for m in machines:
    assert m["success"] and m["failure"] is None and m["not_simulated"] is None
    assert m["iteration_ms"] > 0 and m["fullest"]["hbm_bytes"] > 0
    assert m["estimate_ms"] >= m["mean_ms"] * (1 - 1e-12)
    assert sorted(m["plan"]["plan"]["ebc"]) == ["a", "b"]'

echo "-- what other commands say of the same machine"
for cluster in dgx_a100_80gb polaris_a100; do
  nodes=$(python3 -c "import json; print(next(m['nodes'] for m in json.load(open('dry.json'))['machines'] if m['cluster'] == '$cluster'))")
  run explain case.yaml --set cluster=$cluster --set cluster.nodes="$nodes" --json
  mv streams/out explained.json
  run plan case.yaml --set cluster=$cluster --set cluster.nodes="$nodes"
  mv streams/out plan.json
  run run case.yaml --set cluster=$cluster --set cluster.nodes="$nodes" -q -o run_$cluster
  check "explain, plan and run agree with the dry run on $cluster" python3 -c "
import json
machine = next(m for m in json.load(open('dry.json'))['machines'] if m['cluster'] == '$cluster')
explained = json.load(open('explained.json'))['statistics']
assert explained == machine['statistics'], 'statistics'
assert round(machine['estimate_ms'], 3) == explained['maxima']['total']['ms']
assert json.load(open('plan.json'))['plan'] == machine['plan']['plan'], 'plan'
case = json.load(open('run_$cluster/result.json'))['cases'][0]
assert abs(case['iteration_ms'] - machine['iteration_ms']) <= 1e-9 * machine['iteration_ms'], (case['iteration_ms'], machine['iteration_ms'])"
done

echo "-- a machine without a plan is a row, not the end"
sed 's/rows: 2000000/rows: 400000000/; s/proposers: .greedy, uniform./constraints: {a: {compute_kernels: [fused]}}/' case.yaml >large.yaml
run plan large.yaml --dry-run pcie_a30_8x,hgx_h200_none
check "an unknown cluster ends it" [ "$code" -eq 2 ]
run plan large.yaml --dry-run pcie_a30_8x,dgx_a100_80gb
check "one machine has a plan: $(cat streams/err)" [ "$code" -eq 0 ]
check "the other says why it has none: $(cat streams/out)" said 'pcie_a30_8x: no plan fits'
run plan large.yaml --dry-run pcie_a30_8x
check "where none has a plan it ends with 3" [ "$code" -eq 3 ]
check "and the row is there" said '^pcie_a30_8x +no plan'
sed 's/nodes: 2/nodes: 1/' case.yaml >small.yaml
run plan small.yaml --dry-run dgx_a100_80gb,polaris_a100
check "fewer GPUs than a host has are a part of one" said '^dgx_a100_80gb  .*%'
check "which is said: $(cat streams/out)" said 'dgx_a100_80gb: 4 of the 8 GPUs of a node, with their NICs'
check "beside a machine of whole hosts" said '^polaris_a100  .*%'
run plan small.yaml --dry-run dgx_a100_80gb --json
mv streams/out part.json
run run small.yaml --set cluster=dgx_a100_80gb --set cluster.nodes=1 --set cluster.gpu.count=4 -q -o run_part
check "run says the same of that part" python3 -c "
import json
machine = json.load(open('part.json'))['machines'][0]
case = json.load(open('run_part/result.json'))['cases'][0]
assert abs(case['iteration_ms'] - machine['iteration_ms']) <= 1e-9 * machine['iteration_ms']"
sed 's/nodes: 2/nodes: 3/' case.yaml >twelve.yaml
run plan twelve.yaml --dry-run dgx_a100_80gb,polaris_a100
check "GPUs that are no whole number of hosts are said" said 'dgx_a100_80gb: its hosts have 8 GPUs each, and no whole number of them has 12'
run plan case.yaml --dry-run dgx_a100_80gb --set planner.version=2025-10
check "the older version can be asked" said 'planner of 2025-10 .commit a48cef79.'
run plan case.yaml --dry-run dgx_a100_80gb --json -o dry_file.json
check "-o writes a file" python3 -c 'import json; assert len(json.load(open("dry_file.json"))["machines"]) == 1'

run plan case.yaml --dry-run gb200_nvl72
check "a part of an NVLink domain is a machine: $(cat streams/out)" said '^gb200_nvl72  .*%'

echo "-- what is refused"
refuse 2 'argument --dry-run: "dgx_a100_80gb" is named twice' plan case.yaml --dry-run dgx_a100_80gb,dgx_a100_80gb
refuse 2 'argument --dry-run: an empty name' plan case.yaml --dry-run dgx_a100_80gb,
refuse 2 'argument --dry-run: unknown cluster .dgx_a100_8gb' plan case.yaml --dry-run dgx_a100_8gb
refuse 2 'argument --dry-run: --dry-run and --set cluster.nodes' plan case.yaml --dry-run dgx_a100_80gb --set cluster.nodes=1
refuse 2 'argument --planner: a dry run is' plan case.yaml --dry-run dgx_a100_80gb --planner greedy
refuse 2 'json' plan case.yaml --json

finish 24
