#!/usr/bin/env bash
# No answer about slower or faster hardware misleads: what looks like the wrong sign is mended or said, and never stated
# as a probability.
# Usage: hardware.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

gpu="model: toy, compute_capability: '9.0', hbm: 80 GiB, hbm_bandwidth: 2000 GB/s, flops: {fp32: 60 TFLOP/s}"

echo "-- a faster NIC on a network whose NICs carry no more"
cat >tcp.yaml <<YAML
schema: shardsim.scenario/1
cluster: {base: gcp_a3_high, nodes: 2}
workload: {base: toy_history, batch_per_gpu: 4096, tables: [{name: t, rows: 1000000, dim: 128, kind: pooled, pooling_factor: 4}]}
planner: {name: row_wise}
sweep: {axes: {cluster.nics.rate: [100 Gbit/s, 200 Gbit/s, 400 Gbit/s, 800 Gbit/s]}, keep_plan: true}
YAML
run sweep tcp.yaml -q -o tcp
check "the sweep exits 0: $(head -3 streams/err)" [ "$code" -eq 0 ]
falls=$(cut -d, -f6 tcp/sweep.csv | awk 'NR > 2 && $1 > last * (1 + 1e-6) { bad = 1 } { last = $1 } END { print bad ? "no" : "yes" }')
check "no iteration gets longer with the NIC's rate: $(cut -d, -f6 tcp/sweep.csv | tr '\n' ' ')" [ "$falls" = yes ]

echo "-- fewer channels on faster NICs"
for rate in 50 100; do
  printf 'schema: shardsim.cluster/1\nname: c\nnodes: 2\ngpu: {count: 8, %s}\nnics: {per_gpu: 1, rate: %s Gbit/s}\n' "$gpu" "$rate" >pcie_$rate.yaml
done
run collective predict --cluster pcie_100.yaml --kind all_gather --sizes 256MiB
check "what NCCL's search finds is said" grep -q "would take 16.9 ms with NICs of 6.25 GB/s instead of 12.5 GB/s: NCCL's search finds 1 channel of 12 GB/s here, and 5 channels of 3 GB/s there" streams/out
run collective predict --cluster pcie_50.yaml --kind all_gather --sizes 256MiB
check "and only where it costs time" bash -c '! grep -q "NCCL.s search finds" streams/out'

cat >search.yaml <<YAML
schema: shardsim.scenario/1
cluster: pcie_50.yaml
workload: {base: toy_history, batch_per_gpu: 4096, tables: [{name: t, rows: 1000000, dim: 128, kind: pooled, pooling_factor: 4}]}
planner: {name: row_wise}
sweep: {axes: {cluster.nics.rate: [50 Gbit/s, 100 Gbit/s]}, keep_plan: true}
YAML
run sweep search.yaml -q -o search
tr '\n' ' ' <streams/out >search.txt
check "a sweep says which point beats one on faster hardware: $(head -3 streams/err)" grep -qE 'rate 50 Gbit/s: It is [0-9.]+ % faster than rate 100 Gbit/s, although nothing of its cluster is faster' search.txt
"$shardsim" sweep search.yaml -q -o search 2>&1 | tr '\n' ' ' >screen.txt
check "and its first screen warns of it: $(cat screen.txt)" grep -qE 'It is [0-9.]+ % faster than at 100 Gbit/s, although nothing of its cluster is faster: that is no advice to take it' screen.txt

echo "-- hardware that is slower, with the same plan"
cat >order.yaml <<YAML
schema: shardsim.scenario/1
seed: 61
cluster:
  name: c
  nodes: 8
  gpu: {count: 8, $gpu}
  nics: {per_gpu: 1, rate: 25 Gbit/s}
  nvlink: {kind: switch, links_per_gpu: 18}
  fabric: {kind: fat_tree, nodes_per_leaf: 4, oversubscription: 6}
workload:
  name: w
  batch_per_gpu: 4096
  tables: [{name: t00, rows: 40000000, dim: 128, dtype: fp16, kind: pooled, pooling_factor: 30}]
  optimizer: {name: sgd}
  pipeline: prefetch_sparse_dist
  dense: {layers: [{name: bottom, in: 13, out: 512}, {name: top, in: 1024, out: 1024, repeat: 3}]}
planner: {name: table_row_wise}
iterations: 20
YAML
run run order.yaml -q -o order
tr '\n' ' ' <streams/out >order.txt
check "the two operations whose order it is are named" grep -qE 'without the oversubscription of its fabric, an iteration would take [0-9.]+ ms, [0-9]+ % longer\. cross_node_all_to_all takes [0-9.]+ ms more of the critical path there, because (input|dense)_[a-z_]+ runs beside it' order.txt
printf 'cases: [{name: thin}, {name: wide, set: {cluster.fabric.oversubscription: 1}}]\n' >>order.yaml
run run order.yaml -q -o pair
check "thin is the faster one here" bash -c 'grep -A1 "^w on c" streams/out | grep -q "  thin "'
check "but no chance is stated for it" bash -c '! grep -q "chance %" streams/out'
check "nor in the result" bash -c '! grep -q "\"chance_pct\"\|\"chance\"" pair/result.json'
tr '\n' ' ' <streams/out >pair.txt
check "and it is said why" grep -qE 'thin: .* faster than wide, although nothing of its cluster is faster\. [a-z_]+ takes' pair.txt

echo "-- shares"
cat >closed.yaml <<YAML
schema: shardsim.scenario/1
cluster: {name: c, nodes: 2, gpu: {count: 8, $gpu}, nics: {shared_by: 2, rate: 100 Gbit/s}, fits: open_data}
workload:
  name: w
  batch_per_gpu: 512
  tables:
    - {name: t00, rows: 10000, dim: 64, kind: sequence, average_length: 5, access: {family: zipf, s: 1.2}}
    - {name: t01, rows: 40000000, dim: 128, dtype: fp16, kind: pooled, pooling_factor: 2, access: {family: zipf, s: 1}}
planner: {name: flex}
network: {name: closed_form}
YAML
run run closed.yaml -q --json -o closed
share=$(grep -A2 '"limited_by"' streams/out | grep -o '"share_pct": [0-9.]*' | sed -n 1p | cut -d' ' -f2)
check "nothing is busy for more than all of the time: $share" awk "BEGIN { exit !($share > 0 && $share <= 100) }"
check "and what the closed form leaves out is said" grep -q 'ask for more of node0/nic' streams/out
echo "-- a planner that chooses a worse plan"
cat >planner.yaml <<YAML
schema: shardsim.scenario/1
seed: 6
cluster:
  name: c
  nodes: 4
  gpu: {model: toy, count: 8, compute_capability: '7.0', hbm: 80 GiB, hbm_bandwidth: 2000 GB/s, flops: {fp32: 60 TFLOP/s, bf16: 100 TFLOP/s}, kernel_overhead: 0 s, sort_per_lookup: 1.5 ns}
  nics: {shared_by: 2, rate: 100 Gbit/s}
  fits: open_data
  nvlink: {kind: switch, links_per_gpu: 12}
workload:
  name: w
  batch_per_gpu: 32
  tables:
    - {name: t00, rows: 10000, dim: 256, kind: pooled, pooling_factor: 10, access: {family: zipf, s: 1.2}}
    - {name: t05, rows: 1000000, dim: 128, kind: sequence, average_length: 1, access: {family: zipf, s: 0.6}}
    - {name: t10, rows: 40000000, dim: 32, kind: sequence, average_length: 50, access: {family: zipf, s: 1.2}}
  optimizer: {name: adam}
  pipeline: sparse_dist
compute_model: {name: roofline}
planner: {name: flexshard_3tier}
iterations: 20
YAML
run run planner.yaml -q -o planner
tr '\n' ' ' <streams/out >planner.txt
check "the faster plan and how to have it are said" grep -qE 'The planner chose a worse plan than it could: the one that it makes .* takes [0-9.]+ ms here, [0-9.]+ % less' planner.txt

echo "-- fewer GPUs of a node, on every shipped cluster"
for file in "$source"/scenarios/clusters/*.yaml; do
  cluster=$(basename "$file" .yaml)
  printf 'schema: shardsim.scenario/1\ntitle: t\ncluster: %s\nworkload: toy_history\nplanner: {name: row_wise}\n' "$cluster" >cut.yaml
  run run cut.yaml --set cluster.gpu.count=4 --set cluster.nodes=1 -q -o cut --force
  check "$cluster runs with 4 GPUs: $(cat streams/err)" [ "$code" -eq 0 ]
done
printf 'schema: shardsim.scenario/1\ntitle: t\ncluster: dgx1_v100\nworkload: toy_history\nplanner: {name: row_wise}\n' >cut.yaml
run run cut.yaml --set cluster.gpu.count=4 --set cluster.nodes=1 -q -o cut --force
check "what is left out is said: $(cat streams/err streams/out)" \
  grep -q "Nodes of 'dgx1_v100' have 4 GPUs here, fewer than its file says. Left out: 4 GPUs, 2 NICs, the NVLinks between 10 pairs of GPUs\\." <(tr '\n' ' ' <streams/out)
finish 50
