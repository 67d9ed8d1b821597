#!/usr/bin/env bash
# Plans, prints and constraints as users of TorchRec have them are imported as they are, or told what they are (plans/README.md has
# their sources). What is not simulated is said.
# Usage: import_plans.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
cp -r "$source/tests/cli/plans" .

# imported FILE [OPTION]...: it is imported into a folder of its name, checked, and its plan planned once more by its scenario.
imported() {
  local name=${1%.*}
  run import "plans/$1" -o "$name" "${@:2}"
  check "$1 is imported: $(cat streams/err)" [ "$code" -eq 0 ]
  cp streams/err "$name.err"
  run check "$name/scenario.yaml"
  check "$1 is checked: $(cat streams/err)" [ "$code" -eq 0 ]
}
runs() {
  run run "$1/scenario.yaml" -q --json -o "$1_run"
  check "$1 runs: $(cat streams/err)" [ "$code" -eq 0 ]
}
says() { check "$1 says '$2': $(cat "$1.err")" grep -q "$2" "$1.err"; }

echo "-- shards of one table on one rank"
imported cw_ranks_twice.json
check "its shards are where they were" [ "$(jq -c '.plan[].t_t_cat_0 | [.ranks, [.shards[].shard_sizes]]' cw_ranks_twice/plan.json)" \
  = '[[1,0,1,0],[[40000000,32],[40000000,32],[40000000,32],[40000000,32]]]' ]
runs cw_ranks_twice

echo "-- kernels of 2022, and plans as they are printed"
imported tutorial_tw.json
says tutorial_tw 'Kernels have their names of 2022: batched_fused is fused here'
check "batched_fused is fused" [ "$(jq -r '.plan[].large_table_0.compute_kernel' tutorial_tw/plan.json)" = fused ]
imported printed_plan.txt
check "print(model.plan) is the plan" [ "$(jq -c '.plan[].large_table_1 | [.ranks, .shards[0].shard_sizes]' printed_plan/plan.json)" = '[[1],[4096,64]]' ]
check "... of two tables" [ "$(jq '.plan[""] | length' printed_plan/plan.json)" = 2 ]
tables_printed=plans/printed_tables.txt
imported printed_tables.txt
check "print(plan) is the plan" [ "$(jq -c '.plan["sparse.ebc"] | [.users.ranks, .users.shards[1].shard_offsets, .items.shards[0].shard_sizes]' printed_tables/plan.json)" \
  = '[[0,1],[5000,0],[20000,128]]' ]
# The same tables as somebody writes them in Markdown.
sed '/ | /s/^.*$/| & |/; s/|  */| /g' "$tables_printed" >markdown.txt
run import markdown.txt -o markdown
check "tables in Markdown are those of the print: $(cat streams/err; head -5 markdown.txt)" cmp markdown/plan.json printed_tables/plan.json
cat >by_hand.txt <<'END'
Our plan:

| module | table | Sharding_Type | compute_kernel | ranks |
|--------|:-----:|---------------|----------------|-------|
| a.ebc  | t1 | row_wise | fused | [0, 1] |
| b.ebc  | t2 | data_parallel | dense | [0, 1] |

| module | table | shard offsets | shard sizes | placement |
|---|---|---|---|---|
| a.ebc | t1 | [0, 0] | [500, 64] | rank:0/cuda:0 |
| a.ebc | t1 | [500, 0] | [500, 64] | rank:1/cuda:1 |
END
jq '{tables: [range(1; 3) | {name: "t\(.)", num_embeddings: 1000, embedding_dim: 64, pooling: "SUM"}]}' -n >sizes.json
run import sizes.json --plan by_hand.txt -o by_hand
check "... with their modules in a column: $(cat streams/err)" \
  [ "$(jq -c '.plan | [.["a.ebc"].t1.ranks, .["b.ebc"].t2.sharding_type]' by_hand/plan.json)" = '[[0,1],"data_parallel"]' ]
refuse 2 'plan_printed_dict.txt:1: shards by rank, as Python prints them.*plan._serialize' import plans/plan_printed_dict.txt -o none
python3 -c 'import json; print(json.load(open("plans/cw_ranks_twice.json"))["plan"])' >plans/dict.txt
imported dict.txt
check "a dict as Python prints it is the plan of the same JSON" cmp dict/plan.json cw_ranks_twice/plan.json
# Launchers and loggers begin lines with words of their own.
tables=plans/printed_tables.txt
for words in '[rank0]:' '[default0]:' '(rank0) ' 'rank 0: ' '0: ' '[1,0]<stdout>:'; do
  sed "s/^/$words/" "$tables" >prefixed.txt
  run import prefixed.txt -o prefixed --force
  check "lines that begin with '$words' are those of the plan: $(cat streams/err)" cmp prefixed/plan.json printed_tables/plan.json
done
awk '{ printf "[2024-05-05 11:11:%02d,%03d] INFO: %s\n", NR / 9, NR * 7, $0 }' "$tables" >prefixed.txt
run import prefixed.txt -o prefixed --force
check "... and those of a logger with a time: $(cat streams/err)" cmp prefixed/plan.json printed_tables/plan.json
sed '2s/^/INFO:planner:/' "$tables" >prefixed.txt
run import prefixed.txt -o prefixed --force
check "... and one whose words are before the first line alone" cmp prefixed/plan.json printed_tables/plan.json
while IFS= read -r line; do printf '[rank0]:%s\n[rank1]:%s\n' "$line" "$line"; done <"$tables" >two_ranks.txt
run import two_ranks.txt -o two_ranks
check "of a plan that two ranks print, one copy is taken: $(cat streams/err)" cmp two_ranks/plan.json printed_tables/plan.json
cat "$tables" "$tables" >twice.txt
run import twice.txt -o twice
check "... also of one that is there twice: $(cat streams/err)" cmp twice/plan.json printed_tables/plan.json
{ cat "$tables"; sed 's/20000/20001/' "$tables"; } >two_plans.txt
refuse 2 'two_plans.txt:[0-9]+: .*the print has several plans, and they differ' import two_plans.txt -o none
head -c 300 plans/printed_plan.txt >cut.txt
refuse 2 'cut.txt:1:301: a plan as Python prints it: the text ends before its value does' import cut.txt -o none
# A script has its entries on lines of their own, of several modules.
entry() { # RANK [KEY=VALUE, ...]
  echo "ParameterSharding(sharding_type='table_wise', compute_kernel='${2:-fused}', ranks=[$1], sharding_spec=EnumerableShardingSpec(
    shards=[ShardMetadata(shard_offsets=[0, 0], shard_sizes=[1000, 64], placement=\"rank:$1/cuda:$1\")])${3:-})"
}
{ echo 'limits = {"rows": 1000}'; echo 'plan = {'; echo " 'm.users': {"; echo "  'a': $(entry 0),"; echo "  'b': $(entry 1)},"
  echo " 'm.items': {"; echo "  'c': $(entry 1)}}"; } >plans/script.txt
imported script.txt
check "entries of a script are those of all its modules: $(cat streams/err)" \
  [ "$(jq -c '[.plan | to_entries[] | [.key, (.value | keys)]]' script/plan.json)" = '[["m.users",["a","b"]],["m.items",["c"]]]' ]
# Keys have digits, and values may be objects that say nothing.
echo "{'m': {'a': $(entry 0 key_value ", key_value_params=KeyValueParams(ssd_storage_directory='/ssd', l2_cache_size=8, \
ps_hosts=(('a', 1), ('b', 2)), policy=<Policy object at 0x7f>, max_l1_cache_size=64), of_later_versions=3")}}" >plans/stores.txt
imported stores.txt
check "sizes of caches are taken: $(cat streams/err)" [ "$(jq -c '.plan.m.a.key_value_params' stores/plan.json)" = '{"max_l1_cache_size":64,"l2_cache_size":8}' ]
says stores 'of_later_versions of the plan is not simulated (tables a)'
printf "rank 0: {'': {'a': %s}}\nrank 1: {'': {'a': %s}}\n" "$(entry 0)" "$(entry 0)" >ranks.txt
run import ranks.txt -o same_objects
check "of objects that two ranks print, one copy is taken: $(cat streams/err)" [ "$code" -eq 0 ]
printf "m.users {'a': %s}\nm.items {'b': %s}\n" "$(entry 0)" "$(entry 1)" >modules.txt
refuse 2 'modules.txt:3: the print has several plans, and they differ.*with all of its modules' import modules.txt -o none
jq '.plan[]' plans/tutorial_tw.json >plans/of_module.json
imported of_module.json
check "entries of one module are a plan" cmp of_module/plan.json tutorial_tw/plan.json
jq '. + {version: 1, comment: null}' plans/tutorial_tw.json >plans/beside.json
imported beside.json
says beside "Beside 'plan' the file has \"version\", which is not read"
check "... and the plan is the same" cmp beside/plan.json tutorial_tw/plan.json

echo "-- hosts of a plan whose placements are on one"
jq '{tables: [range(2) | {name: "t\(.)", num_embeddings: 1000, embedding_dim: 64, pooling: "SUM"}], plan: {ebc: {t0: .plan["m.ebc"].a,
  t1: {sharding_type: "data_parallel", compute_kernel: "dense", ranks: [range(16)]}}}} | .plan.ebc.t0.sharding_spec.shards[0].shard_sizes = [1000, 64]' \
  plans/pinned_three.json >plans/replicated.json
imported replicated.json
check "sixteen ranks are two usual hosts: $(grep '^cluster' replicated/scenario.yaml)" grep -q '^cluster: {base: "dgx_h100", nodes: 2}' replicated/scenario.yaml
run import plans/replicated.json --cluster perlmutter_a100 -o replicated4
check "... or four of a cluster with four GPUs: $(cat streams/err)" grep -q '^cluster: {base: "perlmutter_a100", nodes: 4}' replicated4/scenario.yaml
jq '.tables += [.tables[0] + {name: "more"}]' plans/replicated.json >more.json
refuse 2 'more.json:[0-9]+:[0-9]+: table .more. is not in the plan, which has t0, t1.*sharded: false' import more.json -o none
# A module of which the plan has nothing is one that TorchRec does not shard.
jq '.tables = {ebc: .tables, "over.ec": [{name: "left", num_embeddings: 500, embedding_dim: 32}]}' plans/replicated.json >plans/left_out.json
imported left_out.json
says left_out 'The plan has no table of the module "over.ec", so TorchRec does not shard it.*tables left'
check "... and no module of TorchRec's has its tables" grep -q 'name: "left", .*average_length: 1, sharded: false}' left_out/workload.yaml
runs left_out
jq '.tables["over.ec"][0].data_type = "DataType.FP16"' plans/left_out.json >more.json
refuse 2 'table .left. is not in the plan' import more.json -o none

echo "-- statistics of the planner, as they are printed"
imported statistics.txt
check "tables have their sizes and lookups" grep -q '"rows", rows: 1000000, dim: 64, .*pooling_factor: 15' statistics/workload.yaml
check "sequences are sequences" grep -q '"history".*kind: sequence, average_length: 100' statistics/workload.yaml
says statistics 'Numbers that are 0.0 are rounded ones, below 0.05: they count as 0.025'
check "the plan is the one that was printed" [ "$(jq -c '[.plan["sparse.ebc"].rows.ranks, .plan["sparse.ebc"].wide.shards[3].placement, .plan["sparse.ebc"].wide.cache_params.load_factor, .plan["sparse.ec"].history.ranks]' statistics/plan.json)" \
  = '[[0,1,2,3],"rank:3/cuda:3",0.3,[2]]' ]
runs statistics
sed -e 's/30\.0\( *\)2\.0\( *\)30\.0/ 9.0\13.0\216.0/' -e 's/ sparse\.ec\.history/    sparse.ec.rows/' plans/statistics.txt >plans/unlike_features.txt
imported unlike_features.txt
check "ids and bags are those that were printed: 16 and 3" \
  grep -q '"sparse.ebc.rows".*{name: "sparse.ebc.rows_0", pooling_factor: 5.333333333333333, num_poolings: 1.5}, {name: "sparse.ebc.rows_1", pooling_factor: 5.333333333333333, num_poolings: 1.5}' unlike_features/workload.yaml
check "one name in two modules are two tables" grep -q '"sparse.ec.rows".*kind: sequence, average_length: 100' unlike_features/workload.yaml
runs unlike_features
sed -e '/sparse\.ebc\.rows/p' plans/statistics.txt >twice.txt
refuse 2 'twice.txt:[0-9:]+: table "rows" is there twice' import twice.txt -o none

# Batch and ranks as they are printed, batches of features, and the columns of 2022 and of 2023.
awk '/ 3\.4 /{ for (rank = 0; rank < 16; ++rank) { sub(/# [0-9]+ /, "# " rank " "); print }; next } 1' plans/statistics.txt >sixteen.txt
echo '# Batch Size: 2048   #' >>sixteen.txt
run import sixteen.txt -o sixteen
check "sixteen ranks are two nodes: $(cat streams/err)" grep -q '^cluster: {base: "dgx_h100", nodes: 2}' sixteen/scenario.yaml
check "the batch is the planner's" grep -q '^batch_per_gpu: 2048' sixteen/workload.yaml
check "... which is said" grep -q "The batch is the planner's, 2048 samples per GPU\." streams/err
run import sixteen.txt --batch 512 -o sixteen --force
check "... unless the command says another one" grep -q '^batch_per_gpu: 512' sixteen/workload.yaml
statistics_of() { # COLUMN... on stdin rows
  printf '# --- Planner Statistics --- #\n# Parameter Info: #\n# '
  printf '  %s' "$@"
  printf ' #\n#'
  printf '  -----%.0s' "$@"
  printf ' #\n'
  sed 's/ | /  /g; s/.*/#  & #/'
  printf '# Batch Size: 512 #\n####\n'
}
old=(FQN Sharding 'Compute Kernel' 'Perf (ms)' 'Pooling Factor')
statistics_of "${old[@]}" Output Features 'Emb Dim' 'Hash Size' Ranks >plans/of_2022.txt <<'ROWS'
m.ebc.a | TW | batched_fused | 0.03 | 10.0 | pooled | 1 | 64 | 100000 | 0
m.ebc.b | CW | batched_fused | 0.03 | 3.0 | pooled | 2 | 128 | 50000 | 0-1
m.ebc.c | DP | batched_dense | 0.03 | 1.0 | pooled | 1 | 16 | 50 | 0-1
ROWS
imported of_2022.txt
says of_2022 'The batch is the planner.s, 512 samples per GPU, which is also its default'
check "statistics of 2022 have tables, lookups and slices of columns" \
  [ "$(jq -c '[.plan["m.ebc"].b.shards[].shard_sizes, .plan["m.ebc"].c.ranks]' of_2022/plan.json)" = '[[50000,64],[50000,64],[0,1]]' ]
check "... each feature with its part" grep -q '{name: "b_0", pooling_factor: 1.5}' of_2022/workload.yaml
statistics_of "${old[@]}" 'Number of Poolings' Output Features 'Emb Dim' 'Hash Size' Ranks >plans/of_2023.txt <<'ROWS'
ebc.a | TW | fused | 0.03 (0.01, 0.01, 0.005, 0.005) | 10.0 | 1.0 | pooled | 1 | 64 | 100000 | 0
ebc.b | CW | fused | 0.03 (0.01,0.01,0.0,0.0) | 2.5 | 4.0 | pooled | 2 | 128 (32) | 100000 | 0,1,1,3
ROWS
imported of_2023.txt
check "statistics of 2023 have bags" grep -q '{name: "b_0", pooling_factor: 1.25, num_poolings: 2}' of_2023/workload.yaml
check "... and slices on the ranks" [ "$(jq -c '.plan.ebc.b.ranks' of_2023/plan.json)" = '[0,1,1,3]' ]
sed -e 's/Features/Batch Sizes  &/' -e 's/-----/-----  -----/' -e 's/pooled  2/pooled  64 * 1, 128  2/' -e 's/pooled  1/pooled  n\/a  1/' plans/of_2023.txt >plans/vbe.txt
imported vbe.txt
check "features have batches of their own" grep -q 'num_poolings: 2, batch: 64}, {name: "b_1", .*batch: 128}' vbe/workload.yaml
check "... the others of the module that of a rank" grep -q '"a".*batch: 512' vbe/workload.yaml
sed 's/64 \* 1, 128/64 * 3/' plans/vbe.txt >many.txt
refuse 2 'many.txt:6: table "b" has 2 features and the batch sizes "64 \* 3"' import many.txt -o none
head -4 plans/of_2023.txt >headless.txt
refuse 2 'headless.txt:3: the table of parameters has no line for a table' import headless.txt -o none
sed '/FQN/,$d' plans/of_2023.txt >brief.txt
refuse 2 "brief.txt:1: statistics of TorchRec's planner without their table of parameters.*debug=True" import brief.txt -o none

sed '3a #  ebc.c   TW   fused  #' plans/of_2023.txt | awk '/ebc.c/ { torn = $0; next } { print } / ebc.b / { print torn }' >torn.txt
refuse 2 'torn.txt:7: a line of the table of parameters is cut off' import torn.txt -o none
{ cat plans/of_2023.txt; sed 's/100000/200000/' plans/of_2023.txt; } >two.txt
refuse 2 'two.txt:[0-9]+: the file has several statistics, and they differ' import two.txt -o none
cat plans/of_2023.txt plans/of_2023.txt >two.txt
run import two.txt -o two_of_2023
check "statistics that are there twice are taken once: $(cat streams/err)" cmp two_of_2023/plan.json of_2023/plan.json

echo "-- row blocks of whole buckets, as total_num_buckets cuts them"
imported rw_buckets_uneven.json
check "blocks of 30, 30, 20 and 20 thousand rows stay" \
  [ "$(jq -c '[.plan["m.ebc"].t.shards[].shard_sizes[0]]' rw_buckets_uneven/plan.json)" = '[30000,30000,20000,20000]' ]
runs rw_buckets_uneven
check "ranks with more rows look up more: 30 and 20 % of 16,384" jq -e '.cases[0].rank_loads.lookups == [4916, 4916, 3276, 3276]' rw_buckets_uneven_run/result.json
jq '.plan["m.ebc"].t.sharding_spec.shards[1].shard_sizes[0] = 29999' plans/rw_buckets_uneven.json >uneven.json
refuse 2 "uneven.json:[0-9]+:[0-9]+: table 't': shard 0 does not continue 4 even blocks of rows, nor blocks of whole buckets" import uneven.json -o none

echo "-- groups of 2D plans, and tables over several hosts"
imported two_d_group_0.json
says two_d_group_0 'of one group of a 2D plan (DMPCollection): it has ranks 0, 2 ... 6 of the job, which are ranks 0 to 3'
check "the group is on two hosts of two GPUs" grep -q 'nodes: 2, gpu: {count: 2}' two_d_group_0/scenario.yaml
check "... with its ranks from 0" [ "$(jq -c '.plan["m.ebc"].t.ranks' two_d_group_0/plan.json)" = '[0,1,2,3]' ]
runs two_d_group_0
imported table_rows_over_hosts.json
says table_rows_over_hosts "Table 't' is cut over 8 GPUs of several hosts of 4, as TorchRec does inside of an NVLink domain (pod_size 2)"
check "the cluster has domains of two hosts" grep -q 'nodes: 4, gpu: {count: 4}, nvlink: {domain: 8}' table_rows_over_hosts/scenario.yaml
runs table_rows_over_hosts
refuse 2 "argument --cluster: table 't' is cut over 8 GPUs, which are several hosts of 4" import plans/table_rows_over_hosts.json --cluster perlmutter_a100 -o none
jq '.plan["m.ebc"].t |= (.ranks = [range(16)] | .sharding_spec.shards = [range(16) | {shard_offsets: [. * 1000, 0],
  shard_sizes: [1000, 64], placement: "rank:\(.)/cuda:\(. % 4)"}]) | .plan["m.ebc"] |= {t}' plans/table_rows_over_hosts.json >rack.json
run import rack.json --cluster gb200_nvl72 -o part_of_rack
check "a part of a rack is one NVLink domain: $(cat streams/err)" grep -q 'nodes: 4, nvlink: {domain: 16}' part_of_rack/scenario.yaml
run check part_of_rack/scenario.yaml
check "... which can be run: $(cat streams/err)" [ "$code" -eq 0 ]
imported rw_1600m_8.json --cluster dgx_a100_80gb --nodes 2
runs rw_1600m_8
check "ranks without rows are said" jq -e '[.cases[0].notes[] | select(startswith("The plan places no rows on 8 of 16 ranks: 8-15."))] | length == 1' rw_1600m_8_run/result.json

echo "-- one name in two modules"
imported same_name_two_modules.json
check "they are two tables, each in its module" [ "$(jq -c '[.plan["m.user_ebc"].t.shards[0].shard_sizes, .plan["m.item_ebc"].t.shards[0].shard_sizes]' same_name_two_modules/plan.json)" = '[[1000,64],[2000,64]]' ]
check "... and in the workload" [ "$(grep -c 'module: "m\.\(user\|item\)_ebc"' same_name_two_modules/workload.yaml)" = 2 ]
runs same_name_two_modules
sed 's/^plan: .*/planner: {name: search}/' same_name_two_modules/scenario.yaml >same_name_two_modules/searched.yaml
run plan same_name_two_modules/searched.yaml --torchrec-only -o searched.json
check "search keeps both, in TorchRec's names: $(cat streams/err)" \
  jq -e '(.plan | keys == ["m.item_ebc", "m.user_ebc"]) and ([.plan[] | keys] == [["t"], ["t"]])' searched.json

echo "-- names as models have them"
python3 - >plans/names.json <<'END'
import json

names = ["user id", "\u043a\u043b\u044e\u0447", "a,b", 'say "so" <b>', "</script>", "=1+1", "a-b", "a_b"]
tables = [{"name": name, "num_embeddings": 1000, "embedding_dim": 64, "feature_names": [name + " ids"], "pooling": "SUM"} for name in names]
shard = {"shard_offsets": [0, 0], "shard_sizes": [1000, 64]}
plan = {name: {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [rank],
               "shards": [shard | {"placement": f"rank:{rank}/cuda:{rank}"}]} for rank, name in enumerate(names)}
print(json.dumps({"tables": {"my ebc/x": tables}, "plan": {"my ebc/x": plan}}))
END
imported names.json
check "the plan has them: $(jq -c '.plan | map_values(keys)' names/plan.json)" \
  [ "$(jq -cS '.plan | map_values(keys)' names/plan.json)" = "$(jq -cS '.plan | map_values(keys)' plans/names.json)" ]
runs names
check "... and the run" [ "$(jq -c '[.cases[0].placements[].table]' names_run/result.json)" = "$(jq -c '[.tables[][].name]' plans/names.json)" ]
check "... and none of them ends a script of the page" [ "$(grep -c '</script>"' names_run/report.html)" = 0 ]
jq 'del(.plan) | .constraints = (.tables[] | map({(.name): {sharding_types: ["column_wise"], min_partition: 32}}) | add)' plans/names.json >plans/names_free.json
imported names_free.json
run plan names_free/scenario.yaml --torchrec-only -o names_out.json
check "a planner's plan has them, by constraints of these names: $(cat streams/err)" \
  [ "$(jq -c '.plan["my ebc/x"] | map_values(.sharding_type)' names_out.json | tr ',' '\n' | grep -c column_wise)" = 8 ]
run explain names_free/scenario.yaml --table 'user id'
check "explain finds one" grep -q 'my ebc/x.user id: column_wise' streams/out
jq '.tables[][0].name = "a\nb"' plans/names_free.json >broken.json
refuse 2 'broken.json:[0-9]+:[0-9]+: "a.b" is not a name. Write 1 to 256 bytes, without line ends' import broken.json -o none

echo "-- caches, and constraints without a plan"
imported uvm_cache_params.json
says uvm_cache_params 'cache_params.prefetch_pipeline is true (tables t), so the pipeline is prefetch_sparse_dist'
check "the pipeline prefetches" grep -q '^pipeline: prefetch_sparse_dist$' uvm_cache_params/workload.yaml
runs uvm_cache_params
imported emo_plan.json
check "the cache of 20 % and the pipeline" grep -q '^pipeline: prefetch_sparse_dist$' emo_plan/workload.yaml
imported emo_constraints_only.json
check "constraints become the scenario's" grep -q '"large_table": {sharding_types: \[row_wise\], compute_kernels: \[fused_uvm_caching\], cache_load_factor: 0.2}' \
  emo_constraints_only/scenario.yaml
run plan emo_constraints_only/scenario.yaml -o emo.json
check "which the planner follows: $(cat streams/err)" [ "$(jq -c '.plan[].large_table | [.sharding_type, .compute_kernel]' emo.json)" = '["row_wise","fused_uvm_caching"]' ]
jq '.constraints.large_table += {compute_kernels: ["key_value"], key_value_params: {max_l1_cache_size: 512, l2_cache_size: 4, ssd_storage_directory: "/ssd"}}
  | .constraints.large_table.cache_params = null' plans/emo_constraints_only.json >plans/stores.json
imported stores.json
check "caches of key-value stores, too: $(cat streams/err)" grep -q 'compute_kernels: \[key_value\], max_l1_cache_size: 512 MiB, l2_cache_size: 4 GiB}' stores/scenario.yaml
jq '.constraints.large_table.cache_params += {algorithm: "CacheAlgorithm.LFU", prefetch_pipeline: false}' plans/emo_constraints_only.json >plans/lfu.json
imported lfu.json
check "caches of the rows that are used most" grep -q '^cache_policy: lfu$' lfu/workload.yaml
says lfu 'cache_params.algorithm is LFU (tables large_table), so cache_policy is lfu'
runs lfu
echo "{'m': {'a': $(entry 0 fused_uvm_caching ", cache_params=CacheParams(algorithm=<CacheAlgorithm.LFU: 1>, load_factor=0.2), output_dtype=<DataType.FP32: 'FP32'>")}}" >plans/lfu_repr.txt
imported lfu_repr.txt
check "... also as repr writes it: $(cat streams/err)" grep -q '^cache_policy: lfu$' lfu_repr/workload.yaml
check "... and fp32 is what is exchanged anyway" [ "$(grep -c output_dtype lfu_repr.err)" = 0 ]
jq '.constraints.large_table.cache_params += {algorithm: "CacheAlgorithm.LFU", reserved_memory: 1.5}' plans/emo_constraints_only.json >plans/ahead.json
imported ahead.json
says ahead 'cache_params.algorithm is LFU (tables large_table), which is not taken'
says ahead 'cache_params.reserved_memory is not simulated (tables large_table)'
check "... of those that are filled ahead" [ "$(grep -c '^cache_policy' ahead/workload.yaml)" = 0 ]
imported vbe.json
check "batches of features' own" grep -q '{name: "a", pooling_factor: 10, batch: 512}, {name: "b", pooling_factor: 20, batch: 4096}' vbe/workload.yaml
runs vbe
refuse 2 'vbe.json:[0-9]+:[0-9]+: feature .b. of table .t. has a batch of 4096, and a rank has 2048 samples.*--batch' import plans/vbe.json --batch 2048 -o none
jq '.tables["m.ebc"] += [.tables["m.ebc"][0] + {name: "u", feature_names: ["c"]}]' plans/vbe.json >more.json
run import more.json -o more
check "the rest of the module has the whole batch: $(cat streams/err)" grep -q 'name: "u".*{name: "c", pooling_factor: 1, batch: 4096}' more/workload.yaml
runs more
jq '.tables["m.ebc"] += [.tables["m.ebc"][0] + {name: "u"}]' plans/vbe.json >more.json
run import more.json -o more
check "a feature has as many ids in a table without constraints: $(cat streams/err)" grep -q 'name: "u".*{name: "b", pooling_factor: 20, batch: 4096}' more/workload.yaml
runs more
jq '.constraints.t += {output_dtype: "DataType.FP16"}' plans/vbe.json >more.json
run import more.json -o more
check "output_dtype is what is exchanged: $(cat streams/err)" grep -q "output_dtype of the constraints is the 'wire_dtype' of a table here, fp16 (tables t)" streams/err
check "... of the table" grep -q 'name: "t".*wire_dtype: {forward: fp16, backward: fp16}' more/workload.yaml
runs more
jq '.plan["m.ebc"].a += {output_dtype: "DataType.FP16"} | .plan["m.ebc"].b += {output_dtype: "torch.bfloat16"}' plans/pinned_three.json >typed.json
run import typed.json -o typed
check "... also of a plan: $(cat streams/err)" grep -q "output_dtype of the plan is the 'wire_dtype' of a table here, fp16 (tables a)" streams/err
check "... of each table its own" \
  [ "$(grep -o 'wire_dtype: {.*}}' typed/workload.yaml | tr '\n' ' ')" = 'wire_dtype: {forward: fp16, backward: fp16}} wire_dtype: {forward: bf16, backward: bf16}} ' ]
check "... and no key of plans of ours" [ "$(grep -c output_dtype typed/plan.json)" = 0 ]
runs typed
jq '.plan["m.ebc"].a.compute_kernel = "quant_uvm"' plans/pinned_three.json >quant.json
refuse 2 'table "a" has the compute kernel "quant_uvm", which is one of inference' import quant.json -o none
jq '.constraints.t += {compute_kernels: ["EmbeddingComputeKernel.QUANT", "batched_fused"], enforce_hbm: true}' plans/vbe.json >more.json
run import more.json -o more
check "other kernels are said: $(cat streams/err)" grep -q 'The kernel quant of the constraints is not simulated, so it is not allowed here (tables t)' streams/err
check "... and other keys" grep -q 'enforce_hbm of the constraints is not simulated (tables t)' streams/err
jq '.constraints.t += {device_group: "cuda"}' plans/vbe.json >more.json
run import more.json -o more
check "a group of devices is the scenario's: $(cat streams/err)" grep -q '"t": {device_group: "cuda"}' more/scenario.yaml
jq '.constraints.t += {device_group: "cpu"}' plans/vbe.json >more.json
refuse 2 'constraints of "t": device group cpu, and the cluster.s devices are cuda' import more.json -o none
jq '.tables["m.ebc"][0] += {stash_weights: true}' plans/vbe.json >more.json
run import more.json -o more
check "rows that are to leave the device are told: $(cat streams/err)" grep -q "Rows stay in device memory, though stash_weights says otherwise.*(every table)" streams/err
jq '.tables["m.ebc"][0] += {use_virtual_table: true}' plans/vbe.json >more.json
refuse 2 "more.json:[0-9]+:[0-9]+: table 't' is virtual: its num_embeddings are ids that may come, not rows that are stored" import more.json -o none
jq 'tojson' plans/vbe.json >more.json
refuse 2 'more.json:1: the file is one text in quotes, in which JSON may be. Write the value itself' import more.json -o none
jq '.plan = {"model.ebc": {t: {sharding_type: "data_parallel", compute_kernel: "dense", ranks: [0, 1]}}} | del(.constraints)' plans/vbe.json >elsewhere.json
run import elsewhere.json -o elsewhere
check "a module of another path is told: $(cat streams/err)" grep -q "The plan has a module \"model.ebc\", and 'tables' has \"m.ebc\": tables of one name are taken as the same (tables t)" streams/err
# The default of a table of one feature, which constraints of its sharding bring along, does not contradict another's.
jq '.tables["m.ebc"] += [.tables["m.ebc"][0] + {name: "u", feature_names: ["a"], data_type: "<DataType.FP16: 1>"}]
  | .constraints.u = {sharding_types: ["table_wise"], pooling_factors: [1.0]}' plans/vbe.json >more.json
run import more.json -o more --force
check "nor of one where another table tells of its feature: $(cat streams/err)" \
  grep -q 'name: "u".*dtype: fp16.*{name: "a", pooling_factor: 10, batch: 512}' more/workload.yaml
jq '.constraints.t += {is_weighted: true, pooling_factors: [1.0]} | del(.constraints.t.batch_sizes)' plans/vbe.json >more.json
run import more.json -o more
check "the default of pooling_factors states nothing: $(cat streams/err)" grep -q 'One id a sample and feature' streams/err
check "weights of constraints are taken" grep -q '{name: "b", pooling_factor: 1, weighted: true}' more/workload.yaml
jq '.tables["m.ebc"][0].is_weighted = false' more.json >less.json
run import less.json -o more --force
check "... unless the configuration says otherwise, which is told" grep -q 'is_weighted of the constraints is not taken.*(tables t)' streams/err
jq '.constraints.t.compute_kernels = ["quant"]' plans/vbe.json >more.json
refuse 2 'more.json:[0-9]+:[0-9]+: table "t": no kernel that its constraints allow is simulated' import more.json -o none
imported dlrmv3_streaming.json --cluster dgx_h200
imported pinned_three.json
runs pinned_three

echo "-- HugeCTR's plan"
printf 'name,rows,dim\na,1000,64\nb,10,64\nc,2000,64\nd,1001,64\n' >tables.csv
run import tables.csv --plan plans/hugectr.json -o hugectr
check "its tables are placed so: $(cat streams/err)" [ "$(jq -c '[.plan[] | .[] | [.sharding_type, .ranks]]' hugectr/plan.json)" \
  = '[["table_wise",[0]],["data_parallel",[0,1]],["table_wise",[1]],["row_wise",[0,1]]]' ]
check "... which is said" grep -q "The plan is HugeCTR's, of 2 GPUs on hosts of 2" streams/err
refuse 2 'hugectr.json:1:1: this is a plan file of HugeCTR, which names tables by number' import plans/hugectr.json -o none
sed 's/\[0\], "global/[9], "global/' plans/hugectr.json >nine.json
refuse 2 'nine.json:2:29: HugeCTR.s plan places table "9". The model has 4 tables' import tables.csv --plan nine.json -o none

echo "-- places in documents of one line"
jq '.plan["m.ebc"].t.sharding_spec.shards[1].placement = "rank:1/cpu"' plans/rw_buckets_uneven.json >placed.json
refuse 2 "placed.json:[0-9:]+: table 't': placement \"rank:1/cpu\", but tables lie on GPUs here. Write \"rank:1/cuda:1\"" import placed.json -o none
jq '.plan["m.ebc"].t.sharding_spec.shards[1].placement = "rank:2/cuda:1"' plans/rw_buckets_uneven.json >placed.json
refuse 2 "placed.json:[0-9:]+: table 't': placement \"rank:2/cuda:1\" beside rank 1 in 'ranks'.*write \"rank:1/cuda:1\"" import placed.json -o none
jq '.tables["m.ebc"][0].data_type = "DataType.INT4"' plans/vbe.json >narrow.json
refuse 2 'narrow.json:[0-9:]+: tables cannot have the type "DataType.INT4".*write int8' import narrow.json -o none
jq -c '.plan["m.ebc"].t.ranks = [0, 1, 2]' plans/rw_buckets_uneven.json >one_line.json
refuse 2 'one_line.json:1:[0-9]+: \$\.plan\[.m\.ebc.\]\.t\.sharding_spec\.shards: .*4 shards for 3 ranks' import one_line.json -o none
check "nothing was left behind" [ ! -e none ]
finish 128
