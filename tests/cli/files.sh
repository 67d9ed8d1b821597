#!/usr/bin/env bash
# The files that commands may replace. Each command writes into the results of every other one, over files of the user's, over
# results that were changed since, through links, and over the files that it reads. Nothing that a command reads or that another
# one wrote is lost.
# Usage: files.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

echo "-- what the commands read"
sed "s/clusters\/toy_2x4.yaml/toy_2x4/; s/workloads\/toy_history.yaml/toy_history/" "$source/scenarios/toy.yaml" >toy.yaml
cp "$source/scenarios/imports/tables.csv" tables.csv
cp "$source/tests/fuzz/seeds/two_gpus.xml" topology.xml
{ cat toy.yaml; echo 'sweep: {case: row_wise, axes: {cluster.nodes: [1, 2]}}'; } >sweep.yaml
cat >drift.yaml <<'Y'
schema: shardsim.scenario/1
cluster: toy_2x4
workload:
  name: own
  batch_per_gpu: 64
  tables: [{name: bag, rows: 1000, dim: 16, kind: pooled, pooling_factor: 5}]
planner: {name: row_wise}
drift: {days: 2, rotation: "10 %/day"}
Y
printf 'system,nodes,gpus_per_node,collective,size_bytes,time_us\n%b' \
  'box,1,8,all_reduce,1048576,60\nbox,1,8,all_reduce,16777216,300\nbox,1,8,all_reduce,67108864,1100\n' >rows.csv
{ head -n 1 "$source/scenarios/measurements/kernels/embedding.csv"; sed -n 2,6p "$source/scenarios/measurements/kernels/embedding.csv"; } >kernels.csv
cp "$source/scenarios/measurements/open/flexshard_table6_derived.csv" log.csv
"$shardsim" run toy.yaml -q -o whole >streams/out
"$shardsim" cost-model sample nv_tiny -n 3 -o drawn.json >streams/out
"$shardsim" workload sample tasks nv_tiny --tasks 2 --min-tables 2 --max-tables 4 -o tasks_in.yaml >streams/out

# The folders of results that commands write into the folder that is named behind them.
declare -A folder_commands=(
  [run]="run toy.yaml --case row_wise -q --trace row_wise -o"
  [why]="why toy.yaml --case row_wise --path-only -o"
  [sweep]="sweep sweep.yaml -q -o"
  [drift]="drift drift.yaml -o"
  [import]="import tables.csv -o"
  [collective]="collective compare --measurements log.csv -o"
  [compute]="compute compare --measurements kernels.csv -o"
)
# The single files that commands write, by a name with an ending that they take.
declare -A file_commands=(
  [plan.json]="plan toy.yaml --case row_wise -o"
  [program.json]="lower toy.yaml --case row_wise -o"
  [back.h5]="convert whole/timeline.h5 -o"
  [back.timeline.json]="convert whole/timeline.h5 --case row_wise -o"
  [page.html]="compare whole/timeline.h5 whole/timeline.h5 -o"
  [cluster.yaml]="cluster import topology.xml -o"
  [platform.xml]="cluster export --simgrid toy_2x4 -o"
  [shards.json]="cost-model sample nv_tiny -n 3 -o"
  [pool.yaml]="workload sample pool -o"
  [tasks.yaml]="workload sample tasks nv_tiny --tasks 2 --min-tables 2 --max-tables 4 -o"
  [model.yaml]="import tables.csv -o"
  [calibrated.yaml]="cluster calibrate --cluster dgx1_v100 --measurements rows.csv -o"
  [policy.h5]="autoshard train tasks_in.yaml --updates 1 -o"
  [dreamshard.h5]="dreamshard train tasks_in.yaml --iterations 1 -o"
)

# sums FOLDER: what its files hold, without shardsim's own record of them.
sums() { (cd "$1" && find . -type f ! -name '.shardsim-files' -exec cksum {} + | sort -k 3); }
# kept BEFORE AFTER: whether every line of the first is in the second.
kept() { [ -z "$(comm -23 <(sort "$1") <(sort "$2"))" ]; }
# without_loss WHAT FOLDER ARGUMENT...: whatever the command does, no file of the folder is changed or gone.
without_loss() {
  local what=$1 folder=$2
  shift 2
  sums "$folder" >streams/before
  run "$@"
  sums "$folder" >streams/after
  check "$what: lost or changed is $(comm -23 <(sort streams/before) <(sort streams/after) | tr '\n' ' ')" kept streams/before streams/after
}

echo "-- each command into the results of every other one"
for first in "${!folder_commands[@]}"; do
  # shellcheck disable=SC2086
  run ${folder_commands[$first]} "of_$first"
  check "$first writes its folder: $(cat streams/err)" [ "$code" -eq 0 ]
done
for first in "${!folder_commands[@]}"; do
  for second in "${!folder_commands[@]}"; do
    rm -rf both && cp -a "of_$first" both
    # shellcheck disable=SC2086
    without_loss "$first, then $second" both ${folder_commands[$second]} both
    case "$first $second" in
      "run sweep"|"sweep run"|"run co"*|"co"*" run"|"sweep co"*|"co"*" sweep"|"collective compute"|"compute collective")
        check "$second says whose report.html or comparison.json it is: $(cat streams/err)" grep -q "shardsim [a-z ]*' wrote it" streams/err
        check "... and ends with 2" [ "$code" -eq 2 ] ;;
      *) check "$second finds room beside $first: $(cat streams/err)" [ "$code" -eq 0 ] ;;
    esac
  done
done
for name in "${!file_commands[@]}"; do
  # shellcheck disable=SC2086
  run ${file_commands[$name]} "files/$name"
  check "$name is written: $(cat streams/err)" [ "$code" -eq 0 ]
done
for name in "${!file_commands[@]}"; do
  for other in "${!file_commands[@]}"; do
    [ "${name##*.}" = "${other##*.}" ] && [ "$name" != "$other" ] || continue
    # shellcheck disable=SC2086
    without_loss "the command of $name over $other" files ${file_commands[$name]} "files/$other"
    check "... is refused: $(cat streams/err)" [ "$code" -eq 2 ]
  done
  # shellcheck disable=SC2086
  run ${file_commands[$name]} "files/$name"
  check "the command of $name writes it again: $(cat streams/err)" [ "$code" -eq 0 ]
done
for file in run/result.json run/report.html run/timeline.h5 import/scenario.yaml import/workload.yaml; do
  for name in "${!file_commands[@]}"; do
    [ "${name##*.}" = "${file##*.}" ] || continue
    # shellcheck disable=SC2086
    without_loss "the command of $name over $file" "of_${file%%/*}" ${file_commands[$name]} "of_$file"
    check "... is refused: $(cat streams/err)" [ "$code" -eq 2 ]
  done
done

echo "-- files of the user's"
declare -A results=([run]="report.html result.json timeline.h5 trace/row_wise/rank0.json" [why]="why.html why.json" [sweep]="report.html sweep.csv sweep.h5"
  [drift]="drift.html drift.json" [import]="scenario.yaml workload.yaml" [collective]="report.html comparison.json predictions.csv accuracy.md"
  [compute]="report.html comparison.json predictions.csv accuracy.md")
for command in "${!folder_commands[@]}"; do
  for name in ${results[$command]}; do
    rm -rf mine victim && mkdir -p "mine/$(dirname "$name")" && echo precious >"mine/$name"
    # shellcheck disable=SC2086
    without_loss "$command over a foreign $name" mine ${folder_commands[$command]} mine
    check "... is refused with its name: $(cat streams/err)" grep -q "mine/$name: the file exists, and" streams/err
    rm -rf mine && mkdir -p "mine/$(dirname "$name")" && echo precious >victim && ln -s "$work/victim" "mine/$name"
    # shellcheck disable=SC2086
    run ${folder_commands[$command]} mine
    check "$command through a linked $name is refused: $(cat streams/err)" [ "$code" -eq 1 ]
    check "... and what it leads to stays" [ "$(cat victim)" = precious ]
    rm -rf mine && cp -a "of_$command" mine && echo changed >>"mine/$name"
    # shellcheck disable=SC2086
    without_loss "$command over its own changed $name" mine ${folder_commands[$command]} mine
    check "... is refused: $(cat streams/err)" grep -q "mine/$name: the file has changed since 'shardsim .*' wrote it.*--force" streams/err
    # shellcheck disable=SC2086
    run ${folder_commands[$command]} mine --force
    check "... and done with --force: $(cat streams/err)" [ "$code" -eq 0 ]
    check "... whole, as $command does for $name: $(diff <(sums "of_$command") <(sums mine) | tr '\n' ' ')" cmp -s <(sums "of_$command") <(sums mine)
  done
done
for name in "${!file_commands[@]}"; do
  echo precious >"over.${name#*.}"
  # shellcheck disable=SC2086
  refuse 2 "over.${name#*.}: the file exists, and .shardsim .*. is not known to have written it.*--force" ${file_commands[$name]} "over.${name#*.}"
  ln -sf "over.${name#*.}" "link.${name#*.}"
  # shellcheck disable=SC2086
  refuse 2 "over.${name#*.}: the file exists, and" ${file_commands[$name]} "link.${name#*.}"
  # shellcheck disable=SC2086
  run ${file_commands[$name]} "link.${name#*.}" --force
  check "a file is replaced with --force, and its link stays: $(cat streams/err)" [ "$code" -eq 0 -a -L "link.${name#*.}" ]
  rm "over.${name#*.}" "link.${name#*.}" .shardsim-files
done

echo "-- what a command reads"
run plan toy.yaml --case row_wise -o plan.json
printf 'schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplan: {file: plan.json}\n' >reads.yaml
for options in "" --force; do
  # shellcheck disable=SC2086
  refuse 2 'plan.json: this command has read the file, so it does not replace it' plan reads.yaml -o plan.json $options
done
cp whole/timeline.h5 twin.h5
refuse 2 'is the file that is read' convert twin.h5 -o twin.h5 --force
cp toy.yaml reads2.yaml
sed -i 's/^cluster: .*/cluster: .\/own.yaml/' reads.yaml && cp "$source/scenarios/clusters/toy_2x4.yaml" own.yaml
refuse 2 'own.yaml: (this command has read|the file exists)' lower reads.yaml -o own.yaml
run collective compare --measurements log.csv -o again
cp -a again more
run collective compare --measurements more/predictions.csv -o more
check "measurements that are read are not replaced: $(cat streams/err)" cmp -s again/predictions.csv more/predictions.csv

cat >nccl.txt <<'E'
# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid  1 on box device  0 [0x07] NVIDIA A100
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    60.00   17.48   30.58      0    60.00   17.48   30.58      0
    16777216       4194304     float     sum      -1   300.00   55.92   97.87      0   300.00   55.92   97.87      0
E
printf 'schema: shardsim.clusters_map/1\nsystems: {box: {cluster: dgx1_v100, nodes: 1, gpus_per_node: 8}}\n' >box.yaml
for name in accuracy.md comparison.json report.html predictions.csv; do
  rm -rf logged && mkdir logged && cp nccl.txt "logged/$name"
  [ "$name" != predictions.csv ] || cp rows.csv "logged/$name"
  without_loss "a log at $name, which is read, is not replaced with --force" logged collective compare \
    --measurements "logged/$name" --kind all_reduce --system box --clusters box.yaml -o logged --force
  check "... but refused: $(cat streams/err)" grep -q "logged/$name: this command has read the file" streams/err
done

echo "-- a result that somebody has protected"
run plan toy.yaml --case row_wise -o kept.json
chmod a-w kept.json
refuse 2 'kept.json: the file is write-protected.*--force' plan toy.yaml --case row_wise --seed 5 -o kept.json
run plan toy.yaml --case row_wise -o kept.json --force
check "--force replaces it: $(cat streams/err)" [ "$code" -eq 0 ]
rm -rf kept && cp -a of_run kept && chmod a-w kept/result.json
without_loss "a protected result of a run stays" kept run toy.yaml --case row_wise -q --seed 5 -o kept
check "... with 2 and its name: $(cat streams/err)" grep -q 'kept/result.json: the file is write-protected' streams/err

echo "-- an import, the user's changes, and a run beside it"
run import tables.csv -o model
echo '# my edits' >>model/workload.yaml
run run model/scenario.yaml -o model -q
check "the run finds room: $(cat streams/err)" [ "$code" -eq 0 -a -f model/result.json ]
check "the changed workload is as it was" grep -q 'my edits' model/workload.yaml
check "the scenario is there" [ -f model/scenario.yaml ]
refuse 2 "model/workload.yaml: the file has changed since 'shardsim import' wrote it" import tables.csv -o model
run import tables.csv -o model --force
check "--force replaces it" [ "$(grep -c 'my edits' model/workload.yaml)" -eq 0 ]
check "the results of the run stay" [ -f model/result.json ]

echo "-- points of a sweep"
for name in local.points lock sweep.txt; do
  rm -rf swept victim && mkdir -p swept/points && echo precious >victim && ln -s "$work/victim" "swept/points/$name"
  run sweep sweep.yaml -o swept -q
  check "a link at points/$name is refused: $(cat streams/err)" grep -q "swept/points/$name: cannot write it: it is a link" streams/err
  check "... with 1" [ "$code" -eq 1 ]
  check "a point is not written through $name" [ "$(cat victim)" = precious ]
done
rm -rf swept && mkdir -p swept elsewhere && ln -s "$work/elsewhere" swept/points
refuse 1 'swept/points: a link is in the way of the points of a sweep' sweep sweep.yaml -o swept -q
rm -rf swept && mkdir -p swept/points && echo precious >swept/points/local.points
run sweep sweep.yaml -o swept -q
check "a foreign file of points is refused: $(cat streams/err)" grep -q 'local.points: the file exists, and is no file of points' streams/err
check "... and stays" [ "$(cat swept/points/local.points)" = precious ]

echo "-- a record that leads elsewhere"
rm -rf run2 && cp -a of_run run2 && mv run2/trace moved && ln -s "$work/moved" run2/trace
run run toy.yaml --case row_wise -q -o run2
check "traces behind a link stay" [ -f moved/row_wise/rank0.json ]
printf 'shardsim files/2\n%s\tshardsim run\t../victim\n' "9-0000000000000000" >run2/.shardsim-files
run run toy.yaml --case row_wise -q -o run2 --force
check "a name that leads out of the folder is nobody's" [ "$(cat victim)" = precious ]

refuse 2 'new/.shardsim-files: this is where shardsim notes' plan toy.yaml --case row_wise -o new/.shardsim-files
check "... and makes nothing" [ ! -e new ]

echo "-- what only a worker reads: the plan that a compared planner, or one of drift, starts from"
plain='schema: shardsim.scenario/1\nseed: 7\ncluster: toy_2x4\nworkload: toy_history\n'
printf "$plain"'planner: {name: row_wise}\n' >start.yaml
run plan start.yaml -o start.json
for name in result.json timeline.h5 report.html drift.json; do
  rm -rf started && mkdir started && cp start.json "started/$name"
  printf "$plain"'planners: [row_wise, {name: search, evaluations: 2000, start: started/%s}]\n' "$name" >compared.yaml
  printf "$plain"'planner: {name: row_wise}\ndrift: {days: 1, rotation: "1 %%/day", planners: [{name: search, evaluations: 2000, start: started/%s}]}\n' "$name" >drifting.yaml
  command=run scenario=compared.yaml
  [ "$name" != drift.json ] || command=drift scenario=drifting.yaml
  refuse 2 "started/$name: this command has read the file" $command $scenario -o started --force
  check "started/$name is as it was" cmp -s start.json "started/$name"
done

echo "-- eight at once into a folder that is not there yet"
for round in 1 2 3; do
  rm -rf shared && pids=
  for seed in 1 2 3 4 5 6 7 8; do
    "$shardsim" run toy.yaml --case row_wise --seed $seed -q -o shared >/dev/null 2>"streams/err$seed" </dev/null &
    pids+=" $!"
  done
  for pid in $pids; do wait "$pid" || true; done
  # On a slow machine one may have waited long enough for the others.
  wrong=$(cat streams/err? | grep '^error' | grep -cv 'another run is writing its results there now' || true)
  check "none fails because the folder came or went: $(cat streams/err?)" [ "$wrong" -eq 0 ]
  check "there is a result" [ -f shared/result.json ]
  check "nothing is left over" [ "$(ls -A shared | grep -c '^\.shardsim-run')" -eq 0 ]
done

echo "-- pipes and devices"
run plan toy.yaml --case row_wise -o streamed.json
run plan toy.yaml --case row_wise -o /dev/null
check "a plan goes to /dev/null: $(cat streams/err)" [ "$code" -eq 0 ]
check "... which stays" [ -c /dev/null ]
refuse 1 '/dev/full: cannot write it: No space left on device' plan toy.yaml --case row_wise -o /dev/full
for name in /dev/stdout /dev/fd/1 /proc/self/fd/1; do
  echo before >stdout.txt
  "$shardsim" plan toy.yaml --case row_wise -o $name >>stdout.txt 2>streams/err || true
  check "a plan goes through $name behind what its file holds: $(cat streams/err)" cmp -s <(echo before; cat streamed.json) stdout.txt
done
"$shardsim" convert whole/timeline.h5 --case row_wise -o /dev/fd/3 3>descriptor.json >streams/out 2>streams/err || true
check "... and a timeline through a descriptor: $(cat streams/err)" grep -q '"case"' descriptor.json
mkfifo pipe pipe.h5
cat pipe >piped.json & reader=$!
run plan toy.yaml --case row_wise -o pipe
wait "$reader"
check "a pipe gets the plan" cmp piped.json streamed.json
cat pipe.h5 >piped.h5 & reader=$!
run convert whole/timeline.h5 -o pipe.h5
wait "$reader"
check "a pipe gets the converted timeline: $(cat streams/err)" "$shardsim" convert piped.h5 -o from_pipe.h5
check "a pipe stays" [ -p pipe ]
check "... the other one, too" [ -p pipe.h5 ]

finish 460
