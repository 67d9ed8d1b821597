#!/usr/bin/env bash
# `shardsim why` as a user meets it: what it refuses, the path whose parts make the iteration, its page, and what it says
# would help beside simulations from the changed file (scripts/elasticity_check.sh on the scenario of the README).
# Usage: why.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
toy=$source/scenarios/toy.yaml

echo "-- bad input"
refuse 2 'argument --case: the scenario has several cases. Name one of: row_wise' why "$toy"
refuse 2 'argument --case: unknown case "nope". Known: row_wise' why "$toy" --case nope
refuse 2 "argument --case: unknown case \"row_wise/search\". The plan that a planner makes for a case: --case row_wise --set planner='\{name: search\}'" why "$toy" --case row_wise/search
refuse 2 'argument --case: unknown case "row_wise/nope". ' why "$toy" --case row_wise/nope
refuse 2 'argument --case: "flexshard\*" fits several' why "$toy" --case 'flexshard*'
refuse 2 'no_such.yaml: cannot read it' why no_such.yaml
refuse 2 'argument --set cluster.nodez: unknown key' why "$toy" --case row_wise --set cluster.nodez=3

echo "-- the path"
run why "$toy" --case row_wise --json -o page
check "it exits 0: $(cat streams/err)" [ "$code" -eq 0 ]
cp streams/out why.json
check "its parts are the iteration" jq -e >streams/jq '(([.path[].ms] | add) / .iteration_ms - 1 | fabs) < 1e-9' why.json
check "the folder has the same document" cmp -s why.json page/why.json
check "the page has the sentence" grep -qF "$(jq -r '.sentence' why.json | cut -c1-60)" <(sed 's/&nbsp;/ /g' page/why.html)
iteration=$("$shardsim" run "$toy" --case row_wise --json -q -o plain | jq '.cases[0].iteration_ms')
check "the iteration is that of run" jq -e >streams/jq --argjson run "$iteration" '(.iteration_ms / $run - 1 | fabs) < 1e-9' why.json
run why "$toy" --case row_wise --path-only --json
check "--path-only leaves out what would help" jq -e >streams/jq '.help == null or (.help.elasticities // [] | length == 0)' streams/out
run why "$toy" --case row_wise
check "tables say where the time goes" grep -q '^CRITICAL PATH' streams/out
check "... and what would help" grep -q '^WHAT WOULD HELP' streams/out

check "... vectors as fp16, which change numbers" grep -q 'if vectors travelled as fp16' streams/out
check "... which is said" grep -q "changes the numbers which the model" <(paste -sd' ' streams/out)
halved=$("$shardsim" run "$toy" --case row_wise --set 'workload.wire_dtype={forward: fp16, backward: fp16}' --json -q -o halved | jq '.cases[0].iteration_ms')
check "... by as much as the changed file gives" jq -e >streams/jq --argjson run "$halved" \
  '.help.supposed[] | select(.key == "fp16_vectors") | (.iteration_ms / $run - 1 | fabs) < 1e-9' why.json

sixty=sixty.yaml
printf '%s\n' 'schema: shardsim.scenario/1' 'cluster: {base: dgx_h100, nodes: 2}' 'planner: {name: torchrec}' \
  'workload: {base: sixty_tables, batch_per_gpu: 1024}' 'software: torchrec_eager' >$sixty
run why "$sixty" --json
cp streams/out sixty.json
compiled=$("$shardsim" plan "$sixty" -o kept.json >streams/out 2>streams/err && "$shardsim" run "$sixty" --set software=torchrec_compiled --set planner=null --set 'plan={file: kept.json}' --json -q -o compiled | jq '.cases[0].iteration_ms')
check "the same software with a CUDA graph brings what the changed file gives" jq -e >streams/jq --argjson run "$compiled" \
  '.help.supposed[] | select(.key == "with_graph") | .text == "with software torchrec_compiled" and (.iteration_ms / $run - 1 | fabs) < 1e-9 and .shorter_pct > 1' sixty.json
check "no supposition is below the host alone but that of a free host" jq -e >streams/jq \
  '(.help.supposed[] | select(.key == "only_host").iteration_ms) as $host | [.help.supposed[] | select(.key == "free_nics" or .key == "free_nvlink" or .key == "even_ranks") | .iteration_ms >= $host * (1 - 1e-9)] | all' sixty.json
run why "$sixty" --set workload.index_dedup=true --json
check "nothing is said of index_dedup where it is on" jq -e >streams/jq '[.help.supposed[].key] | index("index_dedup") == null' streams/out
ids=(--set software=ideal)
deduped=$("$shardsim" plan "$sixty" "${ids[@]}" -o own.json >streams/out 2>streams/err && "$shardsim" run "$sixty" "${ids[@]}" --json -q -o asked >asked.json && "$shardsim" run "$sixty" "${ids[@]}" --set workload.index_dedup=true --set planner=null --set 'plan={file: own.json}' --json -q -o deduped | jq '.cases[0].iteration_ms')
run why "$sixty" "${ids[@]}" --json
cp streams/out dedup.json
check "where it is off, as much as the changed file gives" jq -e >streams/jq --argjson run "$deduped" \
  '.help.supposed[] | select(.key == "index_dedup") | (.iteration_ms / $run - 1 | fabs) < 1e-9' dedup.json
check "... and as run says" jq -e >streams/jq --argjson why "$(jq '.help.supposed[] | select(.key == "index_dedup").iteration_ms' dedup.json)" \
  '(.cases[0].iteration_ms_without_duplicates / $why - 1 | fabs) < 1e-9' asked.json

mixed=$source/scenarios/mixed.yaml
slow_sort=(--set "compute_model={name: roofline}" --set "cluster.gpu.sort_per_lookup=1.5 ns")  # then the order matters
run why "$mixed" --case prefetch_sparse_dist "${slow_sort[@]}" --json
cp streams/out mixed.json
reordered=$("$shardsim" run "$mixed" --case prefetch_sparse_dist "${slow_sort[@]}" --set workload.modules.first=sequence --json -q -o reordered | jq '.cases[0].iteration_ms')
check "the other order of modules brings what the changed file gives: $(cat streams/err)" jq -e >streams/jq --argjson run "$reordered" \
  '.help.supposed[] | select(.key == "other_module_first") | (.iteration_ms / $run - 1 | fabs) < 1e-9 and .shorter_pct > 3' mixed.json
check "... as run says" grep -q 'With the sequence module first in the forward pass, an iteration would take' \
  <("$shardsim" run "$mixed" --case prefetch_sparse_dist "${slow_sort[@]}" -q -o plain_order --json)

echo "-- what limits"
step=step.yaml
printf '%s\n' 'schema: shardsim.scenario/1' 'cluster: {base: hgx_h100_8x400g, nodes: 2}' 'planner: {name: data_parallel}' \
  'workload: {name: w, batch_per_gpu: 1024, pipeline: sparse_dist, tables: [{name: a, rows: 20000000, dim: 128, kind: pooled, pooling_factor: 1, access: {family: zipf, s: 1}}]}' >$step
run why "$step"
check "channels of NCCL that fill no link are named as the limit: $(cat streams/err)" \
  grep -q "(limited by NCCL's channels, which fill [0-9]* % of the link)" <(paste -sd' ' streams/out)
check "a rate that costs only where it is lower is no lever" grep -Eq '^ +NVLink rate +0\.00 % +\+[0-9.]+ % +nothing .*a step: better brings nothing' streams/out
run why "$step" --json --set planner.name=table_wise --set cluster.nodes=1 --set cluster.gpu.count=1 --set workload.batch_per_gpu=1
check "what an iteration of a small batch is made of is among the levers" jq -e >streams/jq \
  '.help.elasticities[0] | .lever == "kernel_starts" and .better_10_pct < -8 and .better_set == ["compute_model.fixed_factor=0.9"]' streams/out

echo "-- what would help, simulated from the file"
check "all changes agree" bash "$source/scripts/elasticity_check.sh" "$shardsim" "$toy"
finish 26
