#!/usr/bin/env bash
# --case of every command that takes it, and tables by name in --set.
# Usage: cases.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
ln -s "$source/scenarios" scenarios
toy=scenarios/toy.yaml

names() { jq -r '.cases[].name' "$1/result.json" | paste -sd' '; }
figures() { jq -c '.cases[] | select(.name == "row_wise").collectives' "$1/result.json"; }

echo "-- check"
cat >twice.yaml <<'Y'
schema: shardsim.scenario/1
cluster: toy_2x4
workload: toy_history
constraints: {"*": {compute_kernels: [fused_uvm]}}
planners: [row_wise, {name: table_wise}]
cases: [{name: a}, {name: b}]
Y
run check twice.yaml
check "a fault that both cases meet is said once: $(cat streams/err)" [ "$(grep -c '^error: ' streams/err)" -eq 1 ]
check "... with 2" [ "$code" -eq 2 ]

echo "-- run"
run run $toy -o whole -q
all=$(names whole)
run run $toy --case row_wise -o one -q
check "one case: $(cat streams/err)" [ "$(names one)" = row_wise ]
check "it has the same figures as among the others" [ "$(figures one)" = "$(figures whole)" ]
run run $toy --case 'flex*2*' --case row_wise -o some -q
check "a pattern and a name: $(names some)" [ "$(names some)" = "row_wise flexshard_2tier" ]
run run $toy --case '*' -o star -q
check "a star is all" [ "$(names star)" = "$all" ]
run run $toy --case 'row_wis?' -o mark -q
check "a question mark is one character" [ "$(names mark)" = row_wise ]
refuse 2 "argument --observed-payload: no table of the workload states what was observed" lower $toy --case row_wise --observed-payload
refuse 2 'argument --case: unknown case "magic". .*row_wise' run $toy --case magic
refuse 2 'argument --case: unknown case "z\*"' run $toy --case row_wise --case 'z*'
run run $toy --case row_wise --trace 'row*' -o traced -q
check "--trace takes patterns" [ -n "$(ls traced/trace/row_wise)" ]
refuse 2 'argument --trace: unknown case "flexshard_3tier". .*row_wise' run $toy --case row_wise --trace flexshard_3tier

echo "-- names that the command line gives"
refuse 2 'error: argument --set cases.0.name: two cases are named "flexshard_2tier"' run $toy --set cases.0.name=flexshard_2tier
refuse 2 'error: argument --set cases.2.name: two cases are named "row_wise"' run $toy --set cases.2.name=row_wise
refuse 2 'error: argument --set cases.0.name: "A" is no name of a case' run $toy --set cases.0.name=A

echo "-- what has no effect says so"
run run $toy --case row_wise --set workload.tables.0.length_distribution.family=poisson -o lengths -q
check "a note on lengths that do not vary" jq -e '.cases[0].notes | any(test("length_distribution of table .* has no effect"))' lengths/result.json

echo "-- comparisons that need a case that is left out"
cat >relative.yaml <<'YAML'
schema: shardsim.scenario/1
cluster: toy_2x4
workload: toy_history
planner: {name: row_wise}
cases:
  - {name: base}
  - name: large
    relative_to: base
    set: {workload.tables.history.rows: 9000}
    published: [{quantity: throughput_gain, value: "10 %", role: predicted, source: nobody}]
YAML
run run relative.yaml --case large -o relative
check "the run does not fail: $(cat streams/err)" [ "$code" -eq 0 ]
check "and says what is missing" grep -q "Not compared with case 'base', which is left out" relative/result.json
first=$("$shardsim" plan scenarios/torchrec_crosscheck.yaml 2>&1 | sed -E 's/.*Name one of: ([^,]+),.*/\1/') || true
run run scenarios/torchrec_crosscheck.yaml --case "$first" -o crossed
check "a cross-check of one case does not fail: $(cat streams/err)" [ "$code" -eq 0 ]
check "and says so: $(cat streams/err)" grep -q '^note: there is no cross-check' streams/err

echo "-- commands that take one case"
for command in plan lower explain; do
  run $command $toy --case 'row_wis*'
  check "$command takes a pattern of one case: $(cat streams/err)" [ "$code" -eq 0 ]
  refuse 2 'argument --case: "\*" fits several. Name one of: .*row_wise' $command $toy --case '*'
done

echo "-- compare and convert"
run compare whole/timeline.h5 whole/timeline.h5 --case 'flex*' --json
check "compare takes patterns: $(cat streams/err)" [ "$(jq -r '.cases[].name' streams/out | paste -sd' ')" = "flexshard_2tier flexshard_3tier" ]
run convert whole/timeline.h5 --case 'flex*' --case row_wise -o some.h5
check "convert takes patterns: $(cat streams/err)" [ "$code" -eq 0 ]
refuse 2 'argument --case: "\*" fits several' convert whole/timeline.h5 --case '*' -o x.timeline.json

echo "-- tables by name"
for path in workload.tables.history.rows workload.tables.0.rows; do
  run lower $toy --case row_wise --set "$path=16000" -o "$path.json"
  check "--set $path: $(cat streams/err)" [ "$code" -eq 0 ]
done
check "the number and the name are one table" cmp -s workload.tables.history.rows.json workload.tables.0.rows.json
refuse 2 'argument --set workload.tables.histori.rows: .*"histori" is no item.*history' run $toy --set workload.tables.histori.rows=1000

echo "-- loads of the ranks"
run check $toy
check "check warns, and is content: $(cat streams/err)" [ "$code" -eq 0 ]
check "of the rank, the factor, the table and what helps" \
  grep -qE "^note: row_wise: Rank 2 looks up 1.76 times .*; 'shardsim why' says whether the others wait for it.* Table 'history' adds most .* If the others wait for that rank: replicating its most popular rows" streams/err
check "of even shares it says nothing" [ -z "$("$shardsim" check <(sed 's,clusters/toy_2x4.yaml,toy_2x4,; s,workloads/toy_history.yaml,toy_history,; $a load: {row_shares: even}' $toy) 2>&1 >/dev/null)" ]
run plan $toy --case row_wise
check "plan says what the fullest rank looks up and receives: $(cat streams/err)" \
  grep -q '^note: Lookups of an iteration: rank 2 has 1.76 times the mean; .* Ids received: rank 2 has 1.76 times the mean' streams/err
check "beside the plan" jq -e '.plan' streams/out >/dev/null

echo "-- the host"
run run $toy --case row_wise --set software=torchrec_eager -o eager -q
check "where GPUs wait for an eager host, the software that helps is named: $(cat streams/out)" \
  grep -q "row_wise: for [0-9]* % of the iteration a GPU has nothing to do but to wait for its host.*'--set software=torchrec_compiled'" <(tr -s '\n ' ' ' <streams/out)
run run $toy --case row_wise --set software=ideal -o ideal -q
check "and else it is not" bash -c "! grep -q torchrec_compiled streams/out"

echo "-- keys without effect, widths that do not follow from the others"
cat >idle.yaml <<'YAML'
schema: shardsim.scenario/1
cluster: {base: toy_2x4, currency: EUR, fabric: {kind: fat_tree, nodes_per_leaf: 2, oversubscription: 4}}
workload:
  name: w
  batch_per_gpu: 64
  tables: [{name: t, copies: 3, rows: 10000, dim: 8, kind: pooled}]
  dense: {layers: [{name: bottom_0, in: 13, out: 8}, {name: top_0, in: 99, out: 1}]}
planner: {name: table_wise}
YAML
run check idle.yaml
check "check says that nothing crosses the spine: $(cat streams/err)" \
  grep -q "^note: main: fabric.oversubscription of 'toy_2x4' has no effect here" streams/err
check "that a currency without a price says nothing" grep -q "^note: main: currency of 'toy_2x4' has no effect" streams/err
check "and that the first layer above reads a width of its own" grep -q "^note: main: Layer 'top_0' reads 99 columns" streams/err
run run idle.yaml -o idle
check "run says both, too" [ "$(grep -cE 'no effect here: all nodes are under one|reads 99 columns' idle/result.json)" -eq 2 ]

echo "-- files beside the scenario"
mkdir -p deep/er
printf 'quality,op\nA,copy\n' >deep/er/m.csv
printf 'schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: row_wise}\ncompute_model: {name: measured, file: m.csv}\ncases: [{name: a}]\n' >deep/er/s.yaml
refuse 2 'deep/er/m.csv:1: column' check deep/er/s.yaml
sed 's/compute_model.*/planners: [{name: search, start: no.json}]/; /planner:/d' deep/er/s.yaml >deep/er/t.yaml
refuse 2 'deep/er/no.json' plan deep/er/t.yaml --case a/search

echo "-- spellings of options"
run run $toy -j2 -qv -o short
check "-j2 and -qv: $(cat streams/err)" [ "$code" -eq 0 ]
check "the result is the same for any number of jobs" cmp -s short/result.json whole/result.json
refuse 2 'argument --output: the option is used in the wrong way. Write --output DIR' run $toy -o --json
run list -- planners
check "after -- there are no options" grep -q row_wise streams/out
finish 32
