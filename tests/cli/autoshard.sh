#!/usr/bin/env bash
# shardsim autoshard train, its file, and the planner that reads it. Usage: autoshard.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
scenarios=$source/scenarios

echo "-- training"
"$shardsim" workload sample tasks metasyn_856 --tasks 6 --test 2 --gpus 4 --min-tables 12 --max-tables 12 \
  --min-dim 16 --max-dim 32 --without-replacement --memory "7 GiB" -o tasks.yaml
run autoshard train tasks.yaml --updates 2 --details -o deep/policy.h5
check "a policy is trained: $(cat streams/err)" [ "$code" -eq 0 ]
check "what judges it taught it: the table says so" grep -qi 'in-model' streams/out
for way in policy 'greedy, score cost' 'greedy, score lookup' random; do
  check "$way stands in the table" grep -q "^ *$way  " streams/out
done
for draws in 10 100 1,000; do check "random search of $draws plans stands there" grep -q "^ *random, best of $draws  " streams/out; done
best() { awk -v way="$1" 'index($0, "random, best of " way "  ") { print $6 }' streams/out; }
check "a longer search is no less even: $(cat streams/out)" awk -v a="$(best 10)" -v b="$(best 100)" -v c="$(best 1,000)" 'BEGIN { exit !(a <= b && b <= c && a < c) }'
check "so do the errors of its costs" [ "$(grep -cE '^ *tasks (trained on|held back) +[0-9.]+ +[0-9.]+ +[0-9.]+' streams/out)" -eq 2 ]
check "the file is said" grep -q 'wrote deep/policy.h5: 4 tasks, 20 episodes, seed 1' streams/err
run autoshard train tasks.yaml --updates 2 -o again.h5 --details
check "two cases are held back" grep -q '^2 tasks were held back' streams/out
check "same scenario, same seed, same bytes" cmp -s deep/policy.h5 again.h5
run autoshard train tasks.yaml --updates 2 --seed 2 -o other.h5
check "another seed, other bytes" bash -c '! cmp -s deep/policy.h5 other.h5'
run autoshard train tasks.yaml --updates 2 --test 'train/*' --without pooling_factor --without bins -o other.h5
check "other cases are held back, features left out: $(cat streams/err)" [ "$code" -eq 0 ]

echo "-- planning"
sed 's|^planner: .*|planner: {name: autoshard, policy: deep/policy.h5}|' tasks.yaml >planned.yaml
run plan planned.yaml --case test/0 -o plan.json
check "the planner reads it: $(cat streams/err)" [ "$code" -eq 0 ]
check "and says what it was trained on" grep -q '4 tasks of up to 12 tables on up to 4 GPUs' streams/err
check "every table is whole on one rank" [ "$(jq '[.. | .sharding_type? // empty] | unique | join(" ")' -r plan.json)" = table_wise ]
check "twelve of them" [ "$(jq '[.. | .sharding_type? // empty] | length' plan.json)" -eq 12 ]

echo "-- the shipped policy"
check "the shipped policy is small" [ "$(stat -c %s "$scenarios"/policies/autoshard_tasks.h5)" -lt 1000000 ]
cp -r "$scenarios/policies" .
sed 's|^planner: .*|planner: {name: autoshard, policy: policies/autoshard_tasks.h5}|' "$scenarios/autoshard_tasks.yaml" >shipped.yaml
run plan shipped.yaml --case test/3 -o shipped.json
check "the shipped policy places the shipped tasks: $(cat streams/err)" [ "$code" -eq 0 ]

echo "-- bad input"
planned() { sed "s|^planner: .*|planner: $1|" tasks.yaml >bad.yaml; }
size=$(stat -c %s deep/policy.h5)
head -c $((size / 2)) deep/policy.h5 >deep/half.h5
planned '{name: autoshard, policy: deep/half.h5}'
refuse 2 'half.h5' plan bad.yaml --case test/0
planned '{name: autoshard, policy: deep/none.h5}'
refuse 2 'none.h5' plan bad.yaml --case test/0
planned '{name: autoshard, policy: {file: deep/policy.h5, provider: cuda}}'
refuse 2 'its provider is .*, not cuda' plan bad.yaml --case test/0
planned '{name: autoshard}'
refuse 2 'policy' plan bad.yaml --case test/0
sed 's|batch_per_gpu: [0-9]*|batch_per_gpu: 64|' planned.yaml >bad.yaml
refuse 2 'lookups of 65536 samples' plan bad.yaml --case test/0
sed 's|^planner: |compute_model: {name: roofline}\nplanner: |' planned.yaml >bad.yaml
refuse 2 '^error: bad.yaml:[0-9]+:[0-9]+: .*trained on costs by gpu_kernels, those of this case are by closed_form.*provider: gpu_kernels' plan bad.yaml --case test/0
printf 'schema: shardsim.scenario/1\ncluster: a100_mesh_4x8\nworkload: rm1\nplanner: {name: autoshard, policy: deep/policy.h5}\n' >bad.yaml
refuse 2 'is a sequence' plan bad.yaml
refuse 2 'argument --updates' autoshard train tasks.yaml --updates 0 -o new.h5
refuse 2 'pooling_factor' autoshard train tasks.yaml --without poling_factor -o new.h5
refuse 2 'argument --test' autoshard train tasks.yaml --test nothing -o new.h5
refuse 2 'left to train' autoshard train tasks.yaml --test '*' -o new.h5
refuse 2 'argument --output' autoshard train tasks.yaml -o -
cp tasks.yaml keep.h5
refuse 2 'keep.h5' autoshard train tasks.yaml --updates 1 -o keep.h5

echo "-- interrupted"
# stop SIGNAL CODE: a training that would take minutes leaves nothing, and an older file as it was.
stop() {
  local code=0 before main
  before=$(files)
  setsid env --default-signal=INT,TERM "$shardsim" autoshard train tasks.yaml --updates 100000 --force -o again.h5 \
    >streams/out 2>streams/err </dev/null &
  main=$!
  begun "$main" "$shardsim"
  works "$main" 80
  kill "-$1" "$main"
  wait "$main" || code=$?
  check "$1 ends the training with $2, not $code" [ "$code" -eq "$2" ]
  check "no half file, and the old one is whole" [ "$before" = "$(files)" ]
}
stop INT 130
stop KILL 137
finish 31
