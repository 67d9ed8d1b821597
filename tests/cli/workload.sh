#!/usr/bin/env bash
# Pools of tables and tasks drawn of them, from the command line to a scenario that runs; the shipped ones are what the
# commands make. Usage: workload.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
scenarios=$source/scenarios

echo "-- pools"
run workload sample pool
check "a pool goes to standard output: $(cat streams/err)" [ "$code" -eq 0 ]
check "the shipped pool is that of seed 0" cmp -s streams/out "$scenarios/workloads/metasyn_856.yaml"
run workload sample pool --seed 5 -o deep/pool.yaml
check "a pool goes to a file" [ "$code" -eq 0 ]
check "another seed is another pool" bash -c '! cmp -s deep/pool.yaml "$1"' _ "$scenarios/workloads/metasyn_856.yaml"
run check deep/pool.yaml
check "which is a workload: $(cat streams/err)" [ "$code" -eq 0 ]
refuse 2 'argument --seed' workload sample pool --seed -1
refuse 2 'argument pol.*pool' workload sample pol
cp "$scenarios/toy.yaml" other.yaml
refuse 2 'other.yaml: .*--force' workload sample pool -o other.yaml

echo "-- tasks"
tasks=(workload sample tasks)
refuse 2 "table 'history' of the pool is a sequence" workload sample tasks toy_history --tasks 2 --min-tables 1 --max-tables 1 -o none.yaml
# The command that made a shipped file, as its first line states it.
line=$(sed -n '1s/^# Made by: shardsim //p' "$scenarios/autoshard_tasks.yaml")
mkdir shipped
check "the shipped tasks of AutoShard say how they were made" [ -n "$line" ]
(cd shipped && eval "'$shardsim' $line -o tasks.yaml")
check "and that makes them" cmp -s shipped/tasks.yaml "$scenarios/autoshard_tasks.yaml"
check "90 to train" [ "$(grep -c 'name: train/' shipped/tasks.yaml)" -eq 90 ]
check "and 10 to test" [ "$(grep -c 'name: test/' shipped/tasks.yaml)" -eq 10 ]

run "${tasks[@]}" deep/pool.yaml --tasks 4 --max-bytes "15 GiB" --max-dim 4 -o deep/tasks.yaml
check "tasks of a pool in a file: $(cat streams/err)" [ "$code" -eq 0 ]
check "name it as seen from theirs" grep -q 'workload: "pool.yaml"' deep/tasks.yaml
run run deep/tasks.yaml -o run -q --json
check "they run: $(cat streams/err)" [ "$code" -eq 0 ]
check "one case per task" [ "$(jq '.cases | length' run/result.json)" -eq 4 ]
run "${tasks[@]}" deep/pool.yaml --tasks 4 --max-bytes "15 GiB" --max-dim 4 -o deep/again.yaml
check "the same seed is the same tasks" cmp -s deep/tasks.yaml deep/again.yaml
run "${tasks[@]}" nv_tiny --tasks 2 --min-tables 3 --max-tables 20 --cluster toy_2x4 --gpus 8 -o tiny.yaml
check "any workload is a pool: $(cat streams/err)" [ "$code" -eq 0 ]
run check tiny.yaml
check "also one with copies of a table and several features: $(cat streams/err)" [ "$code" -eq 0 ]

small=(--tasks 1 --min-tables 3 --max-tables 3)
run "${tasks[@]}" nv_tiny "${small[@]}" --gpus 16 --cluster dgx_h100 -o nodes.yaml
check "the number of nodes is written: $(cat streams/err)" grep -qx 'cluster: {base: "dgx_h100", nodes: 2}' nodes.yaml
run "${tasks[@]}" nv_tiny "${small[@]}" --gpus 4 --cluster dgx_h100 --memory "7 GiB" -o part.yaml
check "or that of GPUs of a node: $(cat streams/err)" grep -qE '^cluster: \{base: "dgx_h100", (nodes: 1, )?gpu: \{count: 4, hbm: "7 GiB"\}\}$' part.yaml
for file in nodes part; do
  run check $file.yaml
  check "and that is a cluster: $(cat streams/err)" [ "$code" -eq 0 ]
done
run lower nodes.yaml -o program.json
check "of so many GPUs" [ "$(jq .world_size program.json)" -eq 16 ]
refuse 2 'argument --gpus: the cluster "pcie_4gib_x4", 4 GPUs to a node, cannot have 8 GPUs\. Give .*4' "${tasks[@]}" metasyn_856 --tasks 1 --gpus 8 --cluster pcie_4gib_x4
refuse 2 'argument --gpus: the cluster "dgx_h100", 8 GPUs to a node, cannot have 12 GPUs\. Give .*a multiple of 8' "${tasks[@]}" metasyn_856 --tasks 1 --gpus 12 --batch 12 --cluster dgx_h100

echo "-- bad input"
refuse 2 'cannot find|unknown workload' "${tasks[@]}" nothing
refuse 2 'argument --without-replacement: 59 different tables of a pool of 55' "${tasks[@]}" nv_tiny --without-replacement
refuse 2 'argument --max-bytes: .*GiB' "${tasks[@]}" metasyn_856 --max-bytes 15
refuse 2 'argument --max-bytes: [0-9]+ tables of this pool take .* B at least' "${tasks[@]}" metasyn_856 --max-bytes "1 B"
ends_within=5 refuse 2 'argument --max-bytes: .*within 1 KiB' "${tasks[@]}" metasyn_856 --max-bytes "1 KiB"
refuse 2 'argument --min-tables: tasks of 60 to 59 tables' "${tasks[@]}" metasyn_856 --min-tables 60
refuse 2 'argument --max-dim: dims from 4 to 96' "${tasks[@]}" metasyn_856 --max-dim 96
refuse 2 'argument --batch: .*multiple' "${tasks[@]}" metasyn_856 --batch 65537
refuse 2 'argument --gpus: .*--cluster' "${tasks[@]}" metasyn_856 --gpus 16
refuse 2 'argument --test' "${tasks[@]}" metasyn_856 --test 101
refuse 2 'argument --tasks' "${tasks[@]}" metasyn_856 --tasks 0
sed 's/rows: [0-9]*, dim/rows: 0, dim/' deep/pool.yaml >empty.yaml
refuse 2 'empty.yaml:[0-9]+:[0-9]+: .*rows' "${tasks[@]}" empty.yaml
sed -i '/^  - /d' empty.yaml
refuse 2 'empty.yaml:' "${tasks[@]}" empty.yaml
finish 30
