#!/usr/bin/env bash
# Models of others become scenarios that are checked and run at once; what cannot be read is refused with its place.
# Usage: import.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
cp -r "$source/scenarios/imports" .

echo "-- a CSV of tables"
run import imports/tables.csv -o csv
check "is taken: $(cat streams/err)" [ "$code" -eq 0 ]
check "what is not read is said" grep -q 'not read: Owner' streams/err
{ printf 'name,rows,dim'; printf ',note%d' {1..2000}; printf '\na,100,16'; printf ',x%.0s' {1..2000}; echo; } >wide.csv
run import wide.csv -o wide
check "... in some words, however many columns there are: $(head -c 300 streams/err)" \
  grep -q 'not read: note1, .*, note12 and 1988 more\.$' streams/err
run import imports/tables.csv -o csv
check "who has columns for both kinds is not told so" [ "$(grep -c 'are sequences' streams/err)" -eq 0 ]
check "sequences have lengths" grep -q 'purchase_history.*kind: sequence, average_length: 200' csv/workload.yaml
check "features have their factors" grep -q '"liked_pages", pooling_factor: 12.5' csv/workload.yaml
check "the dense part to fill in says in which precision its products are" grep -q 'dense: {precision: fp32' csv/workload.yaml
check "what is assumed is a comment" grep -q '^# \* Rows are fp32\|^# \* There is no dense part' csv/workload.yaml
check "a GPU with constants of its own is timed by them" grep -q '^compute_model: {name: gpu_kernels}$' csv/scenario.yaml
check "narrow rows are said to be wide on the wire" grep -q "^note: Vectors are exchanged as fp32, those of the 4 tables with narrower rows, too" streams/err
check "the order of modules that was taken is said" \
  grep -q "^note: The pooled module comes first in the forward pass, because table 'user_id' is the first one" streams/err
check "no host is said to be simulated" grep -q "^note: No host is simulated, .*'software'" streams/err
check "... and the line that would is there" grep -q '^# software: torchrec_eager ' csv/scenario.yaml
run check csv/scenario.yaml
check "is checked: $(cat streams/err)" [ "$code" -eq 0 ]
check "the order of modules is said again" grep -q "The pooled module comes first in the forward pass" <(cat streams/out streams/err)
run run csv/scenario.yaml -q --json -o csv_run
check "and runs: $(cat streams/err)" [ "$code" -eq 0 ]
{ head -1 imports/tables.csv; tail -n +2 imports/tables.csv | grep purchase; tail -n +2 imports/tables.csv | grep -v purchase; } >sequence_first.csv
run import sequence_first.csv -o sequence_first
run run sequence_first/scenario.yaml -q --json -o sequence_first_run
stated=$(jq '.cases[0].iteration_ms' sequence_first_run/result.json)
run run csv/scenario.yaml --set workload.modules.first=sequence -q --json -o stated_run
check "modules.first takes the order of another file: $stated" \
  jq -e --argjson ms "$stated" '(.cases[0].iteration_ms / $ms - 1 | fabs) < 0.02' stated_run/result.json
run import imports/tables.csv -o one.yaml --batch 512 --cluster toy_2x4 --planner row_wise
check "goes into one file: $(cat streams/err)" [ "$code" -eq 0 ]
check "with its batch" grep -q 'batch_per_gpu: 512' one.yaml
check "a GPU that nobody measured keeps the default compute model" [ "$(grep -c compute_model one.yaml)" -eq 0 ]
sed 's/Exponent/zipf_alpha/' imports/tables.csv >alpha.csv
run import alpha.csv -o alpha
check "exponents by another name: $(cat streams/err)" grep -q '"user_id".*s: 0.9' alpha/workload.yaml

printf 'name,rows,dim,average_length\na,1000000,64,20\nb,1000000,128,20\n' >dims.csv
run import dims.csv -o dims
check "what has a length alone is said to be taken for sequences" \
  grep -q "^note: Tables that state an average_length are sequences, .*'pooling'.*(every table)" streams/err
check "sequences of two dimensions are said to be fused" grep -q "^note: Sequences have 2 dimensions (64, 128)" streams/err

echo "-- TorchRec"
(printf '\xef\xbb\xbf' && cat imports/torchrec.json) >marked.json
run import marked.json -o marked
check "JSON with a byte order mark is JSON: $(cat streams/err)" [ "$code" -eq 0 ]
run import imports/torchrec.json -o torchrec
check "configurations and asdict(plan): $(cat streams/err)" [ "$code" -eq 0 ]
check "as many nodes as the plan has, of as many GPUs" grep -q 'nodes: 2, gpu: {count: 4}' torchrec/scenario.yaml
run run torchrec/scenario.yaml -q --json -o torchrec_run
check "run: $(cat streams/err)" [ "$code" -eq 0 ]
check "the modules' paths stay" [ "$(jq -c '.plan["model.ebc"].user.ranks' torchrec/plan.json)" = "[2]" ]
jq '{plan: .plan | map_values(map_values(. + {shards: .sharding_spec.shards} | del(.sharding_spec)))}' imports/torchrec.json >serialized.json
jq 'del(.plan)' imports/torchrec.json >tables.json
run import tables.json --plan serialized.json -o apart
check "plan._serialize() from a file of its own: $(cat streams/err)" [ "$code" -eq 0 ]
check "is the same plan" cmp -s apart/plan.json torchrec/plan.json
jq 'del(.plan["model.ebc"].country)' serialized.json >sized.json
run import sized.json -o plan_alone
check "a plan alone: $(cat streams/err)" [ "$code" -eq 0 ]
run check plan_alone/scenario.yaml
check "is checked: $(cat streams/err)" [ "$code" -eq 0 ]

echo "-- what is refused"
csv() { printf "$1" >t.csv; }
csv 'name,rows,dim\na,"1,000,000",8\n'
refuse 2 't.csv:2:3: rows "1,000,000" has separators.*1000000' import t.csv -o none
csv 'name,rows,dim\na,1,000,000,8\n'
refuse 2 't.csv:2: the row has 5 cells.*thousands' import t.csv -o none
csv 'name;rows;dim;pooling factor\na;30M;8;1\n'
refuse 2 't.csv:2:3: rows "30M" has a unit' import t.csv -o none
csv 'name;rows;dim;pooling factor\na;30;8;1,5\n'
refuse 2 't.csv:2:8: pooling_factor "1,5" has separators. Write a point before decimals, "1.5"' import t.csv -o none
csv 'name,rows,dims\na,1,8\n'
refuse 2 't.csv:1:11: unknown column "dims".*dim' import t.csv -o none
csv 'name,dim\na,8\n'
refuse 2 't.csv:1: no column gives the rows' import t.csv -o none
csv 'name,rows,dim\na,1,8\na,2,8\n'
refuse 2 "t.csv:3.*two tables are called 'a'" import t.csv -o none
csv 'name,rows,dim,dtype\na,1,8,int4\n'
refuse 2 't.csv:2:7: tables cannot have the type "int4"' import t.csv -o none
csv 'name,rows,dim,kind\na,1,8,sequence\n'
refuse 2 "t.csv:2:1: sequence table 'a' has no length" import t.csv -o none
csv ''
refuse 2 't.csv:1: the file is empty' import t.csv -o none
cp t.csv empty.json
refuse 2 'empty.json:1: the file is empty' import empty.json -o none
csv 'name,rows,dim\n'
refuse 2 't.csv: there are no tables' import t.csv -o none
csv '{"tables": [{"name": "a", "num_embeddings": 0, "embedding_dim": 8}]}'
refuse 2 't.csv:1:[0-9]+: .*num_embeddings is 0' import t.csv -o none
refuse 2 'country.*does not state its size' import serialized.json -o none
jq '.constraints.usr = {pooling_factors: [2]}' imports/torchrec.json >constrained.json
refuse 2 "constrained.json:[0-9]+:[0-9]+: constraints of table \"usr\", which 'tables' does not list.*user" import constrained.json -o none
jq '.constraints = {user: {pooling_factor: [2]}}' imports/torchrec.json >constrained.json
refuse 2 'constrained.json:[0-9]+:[0-9]+: unknown key "pooling_factor".*pooling_factors' import constrained.json -o none
jq 'del(.tables)' imports/torchrec.json >constrained.json
refuse 2 "constrained.json:[0-9]+:[0-9]+: constraints of table .*'tables' does not list" import constrained.json -o none
jq '.tables["model.ebc"][0].feature_names = ["user_id", "user_id"]' imports/torchrec.json >twice.json
refuse 2 "twice.json:$(grep -n '"user_id"' twice.json | sed -n 2p | cut -d: -f1):[0-9]+: table 'user' has two features called 'user_id'" import twice.json -o none
csv 'name,rows,dim,features\na,1,8,user id|item id\nb,1,8,f g\n'
run import t.csv -o blanks
check "names of features have blanks where bars part them: $(cat streams/err)" \
  [ "$(grep -o '{name: "[^"]*", pooling_factor' blanks/workload.yaml | cut -d'"' -f2 | tr '\n' ',')" = 'user id,item id,f,g,' ]
csv 'name,rows,dim,features\na,1,8,f|g|f\n'
refuse 2 "t.csv:2:7: table 'a' has two features called 'f'" import t.csv -o none
# An error that only the reader of workloads finds names the file that was given, not the one that is not written.
jq '.tables["model.ebc"][1].embedding_dim = 1000000000000' imports/torchrec.json >wide.json
refuse 2 "wide.json:$(grep -n '"name": "ads"' wide.json | cut -d: -f1):[0-9]+: with table 'ads' the tables take" import wide.json -o none
refuse 2 "wide.json:[0-9]+:[0-9]+: with table 'ads' the tables take" import wide.json -o none.yaml
jq '.constraints.ads.pooling_factors = [1e300, 1]' imports/torchrec.json >long.json
refuse 2 "long.json:$(grep -n '"name": "ads"' long.json | cut -d: -f1):[0-9]+: with table 'ads' one rank reads" import long.json -o none
csv 'name,rows,dim\na,1,8\nb,1000000,1000000000000\n'
refuse 2 "t.csv:3:1: with table 'b'" import t.csv -o none
for kernel in quant customized_kernel; do
  jq --arg kernel $kernel '.plan["model.ebc"].user.compute_kernel = $kernel' imports/torchrec.json >kernel.json
  line=$(grep -n "\"compute_kernel\": \"$kernel\"" kernel.json | cut -d: -f1)
  refuse 2 "kernel.json:$line:[0-9]+: table \"user\" has the compute kernel \"$kernel\", which is (not simulated|one of inference).*fused_uvm" import kernel.json -o none
done
for given in nope '' ./nope.yaml; do refuse 2 'argument --cluster: ' import imports/tables.csv --cluster "$given" -o none; done
refuse 2 'argument --cluster: unknown cluster "nope".*dgx_h100' import imports/tables.csv --cluster nope -o none.yaml
refuse 2 'argument --plan: .*a plan, too' import imports/torchrec.json --plan serialized.json -o none
refuse 2 'argument --cluster: the plan has 4 GPUs on a host, and cluster "dgx_a100_80gb" has 8' import imports/torchrec.json --cluster dgx_a100_80gb -o none
refuse 2 'torchrec/plan.json:[0-9]+:[0-9]+: this is a plan of shardsim already. Use it in a scenario as plan: .file:' import tables.json --plan torchrec/plan.json -o none
refuse 2 'torchrec/plan.json:[0-9]+:[0-9]+: this is a plan of shardsim already' import torchrec/plan.json -o none
refuse 2 'argument --planner: .*no_such' import imports/tables.csv --planner no_such -o none
refuse 2 'argument --planner: there is a plan' import imports/torchrec.json --planner row_wise -o none
printf ' \n\t\n' >blank.json
for file in empty.json blank.json; do
  refuse 2 "$file:1: the file is empty. Write TorchRec's table configurations" import $file -o none
done
printf '' >empty.csv
refuse 2 'empty.csv:1: the file is empty. Name the columns in the first line' import empty.csv -o none
refuse 2 'blank.json:1: not JSON: the file is empty' import imports/tables.csv --plan blank.json -o none
evil=$'made\x1b[2J'
run import imports/tables.csv -o "$evil"
check "control characters of a name are not printed: $(cat -v streams/out)" grep -q '^made?\[2J/scenario.yaml: ' streams/out
check "... in no line" [ "$(grep -c $'\x1b' streams/out streams/err | grep -vc ':0$')" -eq 0 ]
rm -rf "$evil"
ln -s linked.yaml linked.yaml
refuse 1 'linked.yaml: cannot write it: Too many levels' import imports/torchrec.json -o linked.yaml
check "a plan does not stay where its scenario could not be written" [ ! -e linked.plan.json ]
cp "$source/scenarios/toy.yaml" other.yaml
refuse 2 'other.yaml: .*--force' import imports/tables.csv -o other.yaml
mkdir other && echo mine >other/workload.yaml
refuse 2 'other/workload.yaml: .*--force' import imports/tables.csv -o other
run import imports/tables.csv -o other --force
check "--force replaces it, as the message says: $(cat streams/err)" grep -q '^# Made by' other/workload.yaml
cp "$source/scenarios/clusters/toy_2x4.yaml" mine.yaml
mkdir old
run import imports/tables.csv -o old/new/newer --cluster mine.yaml
check "a cluster of one's own serves in a folder that is still to be made: $(cat streams/err)" [ "$code" -eq 0 ]
run check old/new/newer/scenario.yaml
check "... and is found from there: $(cat streams/err)" [ "$code" -eq 0 ]
cp imports/tables.csv tables.yaml
refuse 2 'argument --output: "tables.yaml" is the file that is read' import tables.yaml -o tables.yaml --force
cp imports/torchrec.json mine.plan.json
refuse 2 'argument --output: "mine.plan.json" is the file that is read' import mine.plan.json -o mine.yaml --force
check "a file that is read is not replaced" cmp -s imports/torchrec.json mine.plan.json
echo '{"tables": [{"name": "a", "num_embeddings": 100, "embedding_dim": 64, "feature_names": ["f"], "is_weighted": true}]}' >weighted.json
refuse 2 'weighted.json:1:[0-9]+: .*table "a" is a sequence, which cannot have weights' import weighted.json -o none
check "nothing was left behind" [ ! -e none ]
finish 34
