#!/usr/bin/env bash
# shardsim dreamshard train, its file, and the planner that reads it. Usage: dreamshard.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
scenarios=$source/scenarios

echo "-- training"
"$shardsim" workload sample tasks metasyn_856 --tasks 6 --test 2 --gpus 4 --min-tables 12 --max-tables 12 \
  --min-dim 16 --max-dim 32 --without-replacement --memory "7 GiB" -o tasks.yaml
run dreamshard train tasks.yaml --iterations 2 -o deep/policy.h5
check "a policy is trained: $(cat streams/err)" [ "$code" -eq 0 ]
check "what judges it taught it: the table says so" grep -qi 'in-model' streams/out
for way in policy 'policy, no samples' 'greedy, score cost' 'greedy, score lookup' random; do
  check "$way stands in the table" grep -q "^ *$way  " streams/out
done
check "two cases are held back" grep -q '^2 tasks were held back' streams/out
check "the file is said" grep -q 'wrote deep/policy.h5: 4 tasks, 80 placements measured, 800 episodes, seed 1' streams/err
run dreamshard train tasks.yaml --iterations 2 -o again.h5
check "same scenario, same seed, same bytes" cmp -s deep/policy.h5 again.h5
run dreamshard train tasks.yaml --iterations 1 --seed 2 --test 'train/*' --without pooling_factor --without bins -o other.h5
check "other cases are held back, features left out: $(cat streams/err)" [ "$code" -eq 0 ]

echo "-- planning"
sed 's|^planner: .*|planner: {name: dreamshard, policy: deep/policy.h5}|' tasks.yaml >planned.yaml
run plan planned.yaml --case test/0 -o plan.json
check "the planner reads it: $(cat streams/err)" [ "$code" -eq 0 ]
check "and says what it was trained on" grep -q '4 tasks of up to 12 tables on up to 4 GPUs' streams/err
check "every table is whole on one rank" [ "$(jq '[.. | .sharding_type? // empty] | unique | join(" ")' -r plan.json)" = table_wise ]
check "twelve of them" [ "$(jq '[.. | .sharding_type? // empty] | length' plan.json)" -eq 12 ]
run plan planned.yaml --case test/0 -o twice.json
check "the same plan again" cmp -s plan.json twice.json

echo "-- the shipped policies"
check "they are small" [ "$(stat -c %s "$scenarios"/policies/dreamshard_*.h5 | sort -n | tail -n 1)" -lt 200000 ]
cp -r "$scenarios/policies" .
sed 's|^planner: .*|planners: [{name: dreamshard, policy: policies/dreamshard_tasks.h5}, {name: autoshard, policy: policies/autoshard_tasks.h5}]|' \
  "$scenarios/autoshard_tasks.yaml" >shipped.yaml
run run shipped.yaml --case 'test/*' -o shipped -q
check "the shipped policy places the shipped tasks: $(cat streams/err)" [ "$code" -eq 0 ]
# mean PLANNER: its mean iteration over the ten tasks.
mean() { jq --arg planner "$1" '[.cases[] | select(.name | endswith("/" + $planner)) | .iteration_ms] | add / length' shipped/result.json; }
echo "dreamshard $(mean dreamshard) ms, autoshard $(mean autoshard) ms"
check "faster than AutoShard's, exchanges included" awk -v a="$(mean dreamshard)" -v b="$(mean autoshard)" 'BEGIN { exit !(a > 0 && a < b) }'

echo "-- 640 tables on 64 GPUs"
"$shardsim" workload sample tasks metasyn_856 --tasks 2 --test 1 --cluster dgx_h100 --gpus 64 --min-tables 640 --max-tables 640 \
  --min-dim 16 --max-dim 32 --dtype fp16 --without-replacement -o many.yaml
sed 's|^planner: .*|planners: [{name: dreamshard, policy: policies/dreamshard_tasks.h5}, {name: greedy, score: cost}]|' many.yaml >large.yaml
run run large.yaml --case 'test/*' -o large -q
check "a policy of 80 tables on 8 GPUs places them: $(cat streams/err)" [ "$code" -eq 0 ]
planning() { jq '.planning_cpu_s["test/0/dreamshard"]' large/result.json; }
check "within seconds of a CPU, also under sanitizers: $(planning)" awk -v s="$(planning)" 'BEGIN { exit !(s > 0 && s < 5) }'
check "and says that they are more" grep -q 'with 640 tables on 64 GPUs, is larger' large/result.json

echo "-- bad input"
planned() { sed "s|^planner: .*|planner: $1|" tasks.yaml >bad.yaml; }
size=$(stat -c %s deep/policy.h5)
head -c $((size / 2)) deep/policy.h5 >deep/half.h5
planned '{name: dreamshard, policy: deep/half.h5}'
refuse 2 'half.h5' plan bad.yaml --case test/0
planned '{name: dreamshard, policy: policies/autoshard_tasks.h5}'
refuse 2 'its schema is .*policy/1.*, not shardsim.dreamshard_policy/1' plan bad.yaml --case test/0
planned '{name: autoshard, policy: deep/policy.h5}'
refuse 2 'its schema is .*, not shardsim.policy/1' plan bad.yaml --case test/0
planned '{name: dreamshard, policy: {file: deep/policy.h5, provider: cuda}}'
refuse 2 'its provider is .*, not cuda' plan bad.yaml --case test/0
planned '{name: dreamshard, policy: deep/policy.h5, samples: -1}'
refuse 2 'samples' plan bad.yaml --case test/0
planned '{name: dreamshard}'
refuse 2 'policy' plan bad.yaml --case test/0
sed 's|^planner: .*|compute_model: {name: roofline}\nplanner: {name: dreamshard, policy: deep/policy.h5}|' tasks.yaml >bad.yaml
refuse 2 '^error: bad.yaml:[0-9]+:[0-9]+: .*trained on costs by gpu_kernels, those of this case are by closed_form' plan bad.yaml --case test/0
sed 's|batch_per_gpu: [0-9]*|batch_per_gpu: 64|' planned.yaml >bad.yaml
refuse 2 'dreamshard train' plan bad.yaml --case test/0
refuse 3 'missing on GPU' plan planned.yaml --case test/0 --set cluster.gpu.hbm="1 GiB"
refuse 2 'argument --iterations' dreamshard train tasks.yaml --iterations 0 -o new.h5
refuse 2 'pooling_factor' dreamshard train tasks.yaml --without poling_factor -o new.h5
refuse 2 'argument --test' dreamshard train tasks.yaml --test nothing -o new.h5
refuse 2 'left to train' dreamshard train tasks.yaml --test '*' -o new.h5
for trained in 'autoshard train tasks.yaml --updates 1' 'dreamshard train tasks.yaml --iterations 1'; do
  refuse 3 '12 tables of [a-z]*/0 do not fit.*are missing' $trained --set cluster.gpu.hbm="100 MiB" \
    --set cluster.gpu.reserved="0 B" -o new.h5
done
refuse 2 'argument --output' dreamshard train tasks.yaml -o -
cp tasks.yaml keep.h5
refuse 2 'keep.h5' dreamshard train tasks.yaml --iterations 1 -o keep.h5
finish 32
