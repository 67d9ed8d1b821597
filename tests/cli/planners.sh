#!/usr/bin/env bash
# Planners that are compared: `planners` of a scenario, run --planners, constraints.
# Usage: planners.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
ln -s "$source/scenarios" scenarios
toy=scenarios/toy.yaml

names() { jq -r '.cases[].name' "$1/result.json" | paste -sd' '; }
head_of() { printf 'schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\n'; }

echo "-- run --planners"
refuse 2 'argument --planners: --planners and --set planner.cut=... cannot be used together' run $toy --planners row_wise --set planner.cut=optimal
run run $toy --planners row_wise,flex -o two
check "it runs: $(cat streams/err)" [ "$code" -eq 0 ]
check "cases that differ in their plans alone are one: $(names two)" [ "$(names two)" = "toy_history/row_wise toy_history/flex" ]
check "which a note says" grep -q '^note: toy_history stands for row_wise, ' streams/err
check "the terminal has the table" grep -q '^PLANNERS' streams/out
check "the report, too" grep -q 'x best' two/report.html
run run $toy -o plain -q
same=$(jq '.cases[] | select(.name == "row_wise").iteration_ms' plain/result.json)
check "a planner's iteration is that of the case alone" [ "$(jq '.cases[0].iteration_ms' two/result.json)" = "$same" ]
check "planning time stands in one object" jq -e '.planning_cpu_s | length == 2' two/result.json >/dev/null
check "without planners there is none" jq -e 'has("planning_cpu_s") or has("planner_comparisons") | not' plain/result.json >/dev/null
run run $toy --case flexshard_3tier --planners flex -o one -q
check "of one case: $(names one)" [ "$(names one)" = "flexshard_3tier/flex" ]
refuse 2 "unknown planner 'no_such'" run $toy --planners row_wise,no_such -o none
refuse 2 'argument --planners: --planners and --set planners=... cannot be used together' run $toy --planners all --set planners=all -o none
cat >refused.yaml <<END
schema: shardsim.scenario/1
cluster: {base: toy_2x4, nodes: 2}
workload: {name: w, batch_per_gpu: 100, tables: [{name: a, rows: 20000, dim: 16, dtype: fp16, kind: pooled, access: {family: zipf, s: 0.9}, copies: 10}]}
planners: [{name: autoshard, policy: {file: $source/scenarios/policies/autoshard_tasks.h5, provider: gpu_kernels}}]
END
refuse 2 'no planner takes the case. autoshard for main: .*the policy was trained on .*autoshard train' run refused.yaml -o none
check "and no memory is asked for: $(cat streams/err)" [ "$(grep -c 'more memory' streams/err)" -eq 0 ]
refuse 2 'the case has jobs' run scenarios/two_jobs.yaml --planners all -o none

echo "-- a plan that fits by the memory model and not at its peak fits nowhere"
peak=$(jq '.cases[] | select(.name == "row_wise").memory.simulated.per_rank_bytes | max' plain/result.json)
model=$(jq '.cases[] | select(.name == "row_wise").memory.per_rank_bytes | max' plain/result.json)
check "the peak is above the model: $peak, $model" [ "$peak" -gt "$model" ]
small=(--set "cluster.gpu.hbm=$(((peak + model) / 2)) B")
run run $toy --case row_wise --planners row_wise,flex "${small[@]}" -o small
check "the table of planners says so" grep -qE '^ +row_wise .* over ' streams/out
check "as result.json does" jq -e '.planner_comparisons[0].planners[0] | (.solved | not) and .over_capacity_bytes > 0' small/result.json >streams/jq
check "and memory.fits" jq -e '.cases[0].memory.fits | not' small/result.json >streams/jq
run plan $toy --case row_wise "${small[@]}"
check "and plan: $(cat streams/err)" grep -q '^note: Of the .* GiB at its simulated peak, .* GiB too much: the run would end' streams/err
run plan $toy --case row_wise --set cluster.gpu.reserved="1 GiB"
check "plan names what is reserved: $(cat streams/err)" grep -q '(of its 16, 1 are reserved)' streams/err

echo "-- the same for any number of jobs, but for planning time"
for jobs in 1 8; do
  run run $toy --planners all -o "jobs$jobs" -j $jobs -q
  jq 'del(.planning_cpu_s)' "jobs$jobs/result.json" >"jobs$jobs.json"
done
check "result.json" cmp -s jobs1.json jobs8.json
check "timeline.h5" cmp -s jobs1/timeline.h5 jobs8/timeline.h5
check "result.json is checked" "$shardsim" check jobs1/result.json >/dev/null

check "planners that need options are named apart and not counted" \
  jq -e '.planner_comparisons[0].planners | map(select(.needs_options).planner) == ["autoshard", "dreamshard", "per_table"]' jobs1/result.json >streams/jq
run run $toy --planners all -o again
check "which the terminal says" grep -q "^Not compared, because 'all' does not give the options that they need:" streams/out
check "... and the report: $(grep -o 'Of 1[0-9] planners[^<]*' again/report.html | sed -n 1p)" \
  grep -q 'Of 18 planners, .*% within [0-9.]*-[0-9.]*?*); ' again/report.html
check "... which says who is not compared" grep -q 'Not compared, because ' again/report.html
check "and the table of planners lacks them" [ "$(grep -cE '^ +(autoshard|dreamshard|per_table) ' streams/out)" -eq 0 ]

echo "-- planners of a scenario"
{ head_of; echo 'planners: [row_wise, {name: random, seed: 3, label: third}]'; } >list.yaml
run run list.yaml -o list --case main -q
check "the name of the case means all of its planners: $(names list)" [ "$(names list)" = "main/row_wise main/third" ]
run run list.yaml -o list --case main/third -q
check "one of them has a name of its own: $(names list)" [ "$(names list)" = "main/third" ]
run check list.yaml
check "the scenario is checked: $(cat streams/err)" [ "$code" -eq 0 ]
run plan list.yaml --case main/third
check "plan takes one of them: $(cat streams/err)" [ "$code" -eq 0 ]
{ head_of; echo 'planners: [row_wise, {name: column_wise, width: 3}]'; } >wrong.yaml
refuse 2 'wrong.yaml:4:.*width' run wrong.yaml -o none

echo "-- a planner that cannot run is listed"
{ head_of; echo 'set: {}'; } | sed '/set/d' >small.yaml
echo 'planners: [row_wise, data_parallel]' >>small.yaml
run run small.yaml --set 'cluster.gpu.hbm=4 MB' --set workload.tables.history.rows=80000 -o small
check "the others run: $(cat streams/err)" [ "$code" -eq 0 ]
check "it has bytes over: $(jq -c .planner_comparisons small/result.json)" \
  jq -e '.planner_comparisons[0].planners[1] | .solved == false and .over_capacity_bytes > 0 and (.reason | test("does not fit"))' small/result.json >/dev/null
check "the table says why" grep -q 'data_parallel: the plan does not fit in memory' streams/out
check "and that the memory model counts replicated rows several times" \
  grep -q 'counts a replicated row 6 times' <(tr '\n' ' ' <streams/out)
run run small.yaml --set 'cluster.gpu.hbm=1 KB' -o tiny
check "where none has a plan the exit code is 3: $code" [ "$code" -eq 3 ]
check "its one line says why the first planner has none: $(cat streams/err)" \
  grep -qE '^error: no planner has a plan that fits, for any case\. row_wise for main: .*memory.*--details' streams/err
check "and the table is there all the same" grep -q '^PLANNERS' streams/out
check "so is result.json" jq -e '.cases == [] and (.planner_comparisons | length == 1)' tiny/result.json >/dev/null

echo "-- constraints"
{ head_of; echo 'planner: {name: row_wise}'; echo 'constraints: {history: {sharding_types: [table_wise]}}'; } >kept.yaml
refuse 2 'kept.yaml:5:.*planner "row_wise" violates the constraints: table .history. is row_wise' run kept.yaml -o none
run plan kept.yaml --planner torchrec
check "torchrec keeps them: $(cat streams/err)" grep -q table_wise streams/out
run plan kept.yaml --planner random
check "random keeps them: $(cat streams/err)" grep -q table_wise streams/out
refuse 3 "no plan meets the constraints: table 'history' needs .* over its .* The smallest change that helps: allow " \
  run kept.yaml --set 'cluster.gpu.hbm=8 MB' --set workload.tables.history.rows=80000 -o none
# The limits of TorchRec are a constraint while planning: search takes another plan, and does not fail afterwards.
{ head_of; echo 'planner: {name: search, evaluations: 2000}'; } >tiers.yaml
tiers() { jq '[.plan[][] | select(has("tiers"))] | length' streams/out; }
types() { jq -r '[.plan[][].sharding_type] | unique | join(" ")' streams/out; }
run plan tiers.yaml
check "a plan that TorchRec lacks is said to be one: $(cat streams/err)" \
  grep -q '^note: TorchRec cannot run this plan, which has tiers of rows (history)\. With --torchrec-only' streams/err
run run tiers.yaml --planners search,row_wise -o beside -q
check "the table of planners says which plans TorchRec can run" \
  jq -e '[.planner_comparisons[0].planners[] | [.planner, .runs_in_torchrec, .beyond_torchrec]] == [["search", false, "tiers of rows (history)"], ["row_wise", true, null]]' beside/result.json
run run tiers.yaml --planners search,row_wise -o beside --force
check "... and why not: $(head -20 streams/out)" grep -q 'Not search: tiers of rows (history)\.' <(tr '\n' ' ' <streams/out)
run plan tiers.yaml --torchrec-only
check "search plans without tiers ($code): $(cat streams/err)" [ "$code" -eq 0 -a "$(tiers)" -eq 0 ]
cp streams/out by_option.json
check "and none is said to be beyond TorchRec" [ "$(grep -c 'cannot run' streams/err)" -eq 0 ]
run plan tiers.yaml --set constraints='{"*": {torchrec_only: true}}'
check "which a constraint of the scenario says, too" cmp -s streams/out by_option.json
refuse 2 'flexshard_3tier cuts tables into tiers of rows, and the constraints allow that for no sequence' \
  plan tiers.yaml --planner flexshard_3tier --torchrec-only
refuse 2 'violates the constraints: .* is cut into tiers of rows, which TorchRec does not have' \
  plan tiers.yaml --planner hugectr_hybrid --torchrec-only
run run tiers.yaml --torchrec-only -o within -q
check "run says in a line of its own what the planner would do without: $(cat streams/out)" grep -qE '^ +main/beyond_torchrec +[0-9.]+' streams/out
check "and why TorchRec cannot run that: $(cat streams/out)" \
  grep -qE "Without --torchrec-only the planner.s plan takes [0-9.]+ ms .main/beyond_torchrec.; it has tiers of rows .history., so TorchRec cannot run it" <(paste -sd' ' streams/out)
check "the report says it, too" grep -q 'Without --torchrec-only the planner' within/report.html
"$shardsim" run tiers.yaml --torchrec-only -o within -q >streams/out
check "the answer is the plan within the limit: $(cat streams/out)" grep -q '^main: The iteration takes ' streams/out
next=$(sed -n 's/^Next: shardsim //p' streams/out)
check "and what to ask next runs, with the limit: $next" bash -c "grep -q -- '--torchrec-only' <<<'$next' && '$shardsim' $next >streams/why 2>&1"
check "and simulates both" jq -e '.cases | map(.name) | sort == ["main", "main/beyond_torchrec"]' within/result.json >/dev/null
for type in table_row_wise table_column_wise grid_shard; do
  refuse 2 "is $type, and TorchRec's modules of sequence tables have only data_parallel or table_wise or column_wise or row_wise" \
    plan tiers.yaml --planner $type --torchrec-only
done
{ head_of; echo 'planner: {name: search, evaluations: 2000}'; echo 'constraints: {history: {sharding_types: [grid_shard, table_wise]}}'; } >both.yaml
run plan both.yaml --torchrec-only
check "what both allow is left: $(types) $(cat streams/err)" [ "$(types)" = table_wise ]
{ cat tiers.yaml; echo 'sweep: {axes: {workload.batch_per_gpu: [8, 16]}}'; } >swept.yaml
run sweep swept.yaml --torchrec-only -o swept -q
check "a sweep has plans for TorchRec alone, too: $(cat streams/err)" [ "$code" -eq 0 ]
limited=$(cut -d, -f1- swept/sweep.csv | md5sum)
run sweep swept.yaml -o unlimited -q
check "which are not those without" [ "$limited" != "$(md5sum <unlimited/sweep.csv)" ]
{ head_of; echo 'planner: {name: search}'; echo 'constraints: {history: {device_group: cpu}}'; } >group.yaml
refuse 2 "group.yaml:5:.*device group cpu, and the cluster's devices are cuda" run group.yaml -o none
sed -i 's/history:/histroy:/2; s/{history/{histroy/' kept.yaml
refuse 2 "kept.yaml:5:.*no table \"histroy\".*Did you mean 'history'" run kept.yaml -o none
cat >groups.yaml <<'END'
schema: shardsim.scenario/1
title: replica groups of flex within sharding groups
cluster: {base: dgx_h100, nodes: 2}
workload: {schema: shardsim.workload/1, name: w, batch_per_gpu: 512, sharding_groups: {size: 4}, tables: [{name: t, rows: 1000000, dim: 64, kind: pooled, pooling_factor: 5}]}
planner: {name: flex}
END
refuse 2 "groups.yaml:4:[0-9]*: table 't' is flex, whose rows have replica groups of their own" run groups.yaml -o none
refuse 2 "groups.yaml:4:[0-9]*: table 't' is flex, whose rows have replica groups of their own" plan groups.yaml -o none.json
check "no plan that cannot run is written" [ ! -e none.json ]
finish 45
