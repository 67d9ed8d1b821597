#!/usr/bin/env bash
# Limits that hold together, messages that stay short, and environments that lack something: a good file is never called
# broken, what cannot be done is refused in time and in one line. Usage: limits.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

cat >good.yaml <<'YAML'
schema: shardsim.scenario/1
planner: {name: row_wise}
iterations: 4
cluster: {base: toy_2x4}
workload:
  schema: shardsim.workload/1
  name: history
  batch_per_gpu: 32
  tables:
    - {name: history, rows: 8000, dim: 64, kind: sequence, average_length: 20, access: {family: zipf, s: 1}}
YAML
run run good.yaml -o whole -q --trace all
check "the good scenario runs: $(cat streams/err)" [ "$code" -eq 0 ]

# changed SED_EXPRESSION: good.yaml changed so as bad.yaml.
changed() {
  sed -E "$1" good.yaml >bad.yaml
  if cmp -s good.yaml bad.yaml; then fail "nothing changed by: $1"; fi
}
many() { seq -s, -f "$1" "$2"; }  # many FORMAT N: N texts, with commas between

echo "-- time grows with what there is, not with products of it"
# within SECONDS ARGUMENTS: the program ends well, with so much processor time at most.
within() { run_code=0; bash -c 'ulimit -t "$1"; exec "$0" "${@:2}"' "$shardsim" "$@" >streams/out 2>streams/err || run_code=$?
  check "within $1 s: ${*:2} ends with $run_code: $(cat streams/err)" [ "$run_code" -eq 0 ]; }
{
  echo 'schema: shardsim.scenario/1'
  echo 'cluster: {base: toy_2x4, nodes: 25000}'
  echo 'jobs:'
  for job in {0..199}; do echo "  - {name: j$job, workload: toy_history, planner: {name: row_wise}, nodes: [$job]}"; done
} >jobs.yaml
within 5 check jobs.yaml  # half a minute where every job made the whole cluster

echo "-- limits together"
changed "s/name: history, rows/features: [$(many 'f%.0f' 2000)], copies: 100000, name: history, rows/"
refuse 2 'bad.yaml:10:.*100000 copies of 2010 .*at most 12437 copies' check bad.yaml
changed 's/name: history, rows/copies: 20000, name: history, rows/; s/toy_2x4/toy_2x4, nodes: 2500/'
refuse 2 '20000 tables on 10000 ranks' check bad.yaml
predict="collective predict --cluster dgx_a100_80gb"
# shellcheck disable=SC2086
refuse 2 'argument --sizes: 1000 sizes of 100000 ranks.*at most 50 sizes' $predict --nodes 12500 --kind all_reduce --sizes 1KiB:1000KiB:+1KiB
{
  echo "source,$(seq -s, 0 511)"
  for rank in $(seq 0 511); do printf '%s%s\n' "$rank" "$(printf ',4096%.0s' {1..512})"; done
} >matrix.csv
# shellcheck disable=SC2086
refuse 2 'argument --sizes: 1000 sizes of 262144 cells.*at most 381 sizes' $predict --nodes 64 --kind all_to_all_v --matrix matrix.csv --sizes 1KiB:1000KiB:+1KiB
{
  echo 'system,nodes,gpus_per_node,collective,size_bytes,time_us'
  seq -f 'ALCF Polaris,25000,4,all_reduce,%.0f,100' 1024 1100
} >worlds.csv
run collective compare --measurements worlds.csv -o worlds
check "rows of worlds of 100,000 ranks end in time, with $code: $(cat streams/err)" [ "$code" -le 2 ]

echo "-- times without end"
refuse 2 "^error: good.yaml:1:1: case \"main\": it would run for over" run good.yaml --set cluster.nics.latency='1000000 s'
# why and drift say where the case is, too.
refuse 2 "^error: good.yaml:1:1: case \"main\": it would run for over" why good.yaml --set cluster.nics.latency='1000000 s'
refuse 2 "^error: good.yaml:1:1: case \"main\": it would run for over" drift good.yaml --set drift.days=1 --set drift.batch='1 %/day' \
  --set cluster.nics.latency='1000000 s' -o drifted
# A GPU that nobody has measured is taken to be like the nearest one, and that is said.
run run good.yaml --set compute_model.name=gpu_kernels -q -o nearest
check "a GPU that is not known runs like the nearest one: $code" [ "$code" -eq 0 ]
check "... which is said" grep -q 'No kernels of the GPU toy are known' streams/out
changed 's/^iterations.*/compute_model: {name: gpu_kernels}/'
run check bad.yaml
check "check says it, too: $(cat streams/err)" grep -q '^note: .*No kernels of the GPU toy are known' streams/err
changed 's/^iterations.*/compute_model: {name: gpu_kernels, gpu: nothing}/'
refuse 2 '^error: bad.yaml:3:' run bad.yaml
changed 's/average_length: 20/average_length: 1e-300/'
refuse 2 'bad.yaml:10:.*1e-300 ids per sample.*1e-09' run bad.yaml
sed '2,$s/,100$/,5e-324/' worlds.csv >absurd.csv
refuse 2 'absurd.csv:2: column time_us is absurd' collective compare --measurements absurd.csv

echo "-- long messages"
long=$(printf 'x%.0s' {1..5000})
refuse 2 'cannot read it: File name too long' run "$long"
refuse 2 'unknown option' run "--$long"
refuse 2 'unknown command|Known' "$long"
refuse 2 'Use ranks|cannot find|no value|set' run good.yaml --set "$(printf 'a.%.0s' {1..3000})a=3"
{ cat good.yaml; echo 'cases:'; seq -f '  - {name: c%.0f}' 9999; } >bad.yaml
refuse 2 'several cases. Name one of: c1, .*c9999' lower bad.yaml
printf 'schema: "%s"\n' "$long" >bad.yaml
refuse 2 'bad.yaml:1:9: unknown schema "xx' check bad.yaml
evil=$'\xe2\x80\xae\xe2\x80\xa8\xc2\x9b31m'  # U+202E, U+2028, U+009B
run run good.yaml -o "made$evil"
check "what steers a terminal is not printed: $(cat streams/err)" grep -q '^report: made???31m/report.html$' streams/err
rm -rf "made$evil" bad.yaml matrix.csv worlds worlds.csv absurd.csv

echo "-- streams that are closed"
check "closed stdin and stderr: compare" bash -c "'$shardsim' compare whole/timeline.h5 whole/timeline.h5 <&- 2>&- >compared"
check "closed stdin and stderr: convert" bash -c "'$shardsim' convert whole/timeline.h5 -o back.timeline.json <&- 2>&-"
check "what is written then is whole: $(head -c 100 back.timeline.json)" "$shardsim" convert back.timeline.json -o back.h5
check "a closed stdout is an error" bash -c "! '$shardsim' list planners >&- 2>streams/err"
check "which is told: $(cat streams/err)" grep -q '^error: standard output' streams/err

echo "-- few descriptors and processes, little memory"
# lacking LIMIT ARGUMENT...: under this limit the command succeeds, or says in one line what is missing, with exit code 1.
lacking() {
  local limit=$1
  shift
  code=0
  # Descriptors that whoever runs this test has left open would count, too.
  # shellcheck disable=SC2016
  bash -c 'for fd in /proc/self/fd/*; do fd=${fd##*/}; [ "$fd" -le 2 ] || eval "exec $fd>&-"; done; ulimit '"$limit"'; exec "$0" "$@"' "$shardsim" "$@" >streams/out 2>streams/err || code=$?
  check "ulimit $limit: $* ends with $code: $(cat streams/err)" [ "$code" -le 1 ]
  [ "$code" -eq 0 ] || check "ulimit $limit: $* says so in one line: $(cat streams/err)" [ "$(wc -l <streams/err)" -eq 1 ]
}
for descriptors in 4 5 6 7 8 10 16; do
  for arguments in "compare whole/timeline.h5 whole/timeline.h5" "convert whole/timeline.h5 -o back.h5" "run good.yaml -o few -q" \
    "check good.yaml" "plan good.yaml -o few.json" "compare whole/timeline.h5 --observed-kineto whole/trace/main"; do
    # shellcheck disable=SC2086
    lacking "-n $descriptors" $arguments
  done
done
for kilobytes in 150000 200000 300000; do
  lacking "-v $kilobytes" run good.yaml -o few -q
  lacking "-v $kilobytes" compare whole/timeline.h5 whole/timeline.h5
done
# Whatever fails first where memory hardly suffices, it is no damage of a good file, and no fault of shardsim.
begins() { (ulimit -v "$1" && "$shardsim" --version); } >/dev/null 2>&1
least=16000
until begins $least || [ $least -ge 4000000 ]; do least=$((least + 1000)); done
for kilobytes in $(seq $least 600 $((least + 6000))); do
  for arguments in "compare whole/timeline.h5 whole/timeline.h5" "convert whole/timeline.h5 -o back.h5 --force"; do
    # shellcheck disable=SC2086
    lacking "-v $kilobytes" $arguments
    [ "$code" -eq 0 ] || check "ulimit -v $kilobytes: $arguments names memory: $(cat streams/err)" \
      grep -qE '^error: ([^ ]*: )?(out of memory|the process may have too little memory|cannot start a process|cannot read it: Cannot allocate)' streams/err
  done
done
# A small stack is raised where that is allowed, else it is said; no file is blamed for it.
refused_stack() { code=0; bash -c 'ulimit -s 64; exec "$0" "$@"' "$shardsim" "$@" >streams/out 2>streams/err || code=$?; }
"$shardsim" plan good.yaml -o planned.json 2>streams/err || fail "$(cat streams/err)"
for arguments in "run good.yaml -o few -q" "check good.yaml" "explain planned.json" "compare whole/timeline.h5 whole/timeline.h5" "--help"; do
  # shellcheck disable=SC2086
  refused_stack $arguments
  check "64 KiB of stack: '$arguments' ends with 1, not $code" [ "$code" -eq 1 ]
  check "64 KiB of stack: it says so: $(cat streams/err)" grep -q '^error: the stack may have only 64 KiB. Allow 128 KiB' streams/err
  for allowed in "-S -s 64" "-s 128"; do
    # shellcheck disable=SC2086
    lacking "$allowed" $arguments
    check "ulimit $allowed: '$arguments' works: $(cat streams/err)" [ "$code" -eq 0 ]
  done
done
rm planned.json
if [ "$(id -u)" -ne 0 ]; then lacking "-u 1" compare whole/timeline.h5 whole/timeline.h5; fi

echo "-- files that are read are not written"
ln whole/timeline.h5 hard.h5
ln -s whole/timeline.h5 soft.h5
for target in whole/timeline.h5 hard.h5 soft.h5 whole/../whole/timeline.h5; do
  refuse 2 'argument --output: .*is the file that is read' convert whole/timeline.h5 -o "$target"
done

run compare whole/timeline.h5 whole/timeline.h5 -o page.html
refuse 2 'argument --output: .*page.html. is the file that is read' compare whole/timeline.h5 page.html -o ./page.html
refuse 2 'whole/timeline.h5: an HDF5 file' check whole/timeline.h5
ln -s nowhere lost
refuse 1 'lost: this link leads nowhere' run good.yaml -o lost -q
refuse 1 'lost: this link leads nowhere' run good.yaml -o lost/inside -q
check "a link to a disk that is not there stays" [ -L lost ]
mkdir linked
ln -s ../good.yaml linked/.shardsim-files
refuse 1 'linked/.shardsim-files: a link is in the way' run good.yaml -o linked -q
imported="$source/scenarios/imports/torchrec.json"
echo precious >model.plan.json
refuse 2 'model.plan.json: the file exists, and .shardsim import -o FILE.yaml. is not known to have written it' import "$imported" -o model.yaml
for name in ...yaml ..yaml; do
  mkdir below
  cp good.yaml "below/$name"
  (cd below && "$shardsim" run "$name" -q >../streams/out 2>../streams/err) || fail "$name does not run"
  check "results of $name lie in out/scenario" [ -f below/out/scenario/result.json ]
  check "$name and out alone are there" [ "$(find below -mindepth 1 -maxdepth 1 | wc -l)" -eq 2 ]
  check "nothing lies beside scenario" [ "$(find below/out -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ]
  rm -rf below
done

run plan good.yaml -o plan.json
for arguments in "plan good.yaml -o good.yaml --force" "lower good.yaml -o ./good.yaml --force" "plan soft.yaml -o good.yaml --force"; do
  ln -sf good.yaml soft.yaml
  # shellcheck disable=SC2086
  refuse 2 'argument --output: "[./]*good.yaml" is the file that is read' $arguments
done
ln -s round round
refuse 1 'round: cannot write it: Too many levels of symbolic links' plan good.yaml -o round
rm round soft.yaml plan.json

echo "-- nothing is left of a run that failed"
before=$(find . -mindepth 1 -maxdepth 1 | sort)
refuse 2 'over' run good.yaml -o a/b/c --set cluster.nics.latency='1000000 s'
bash -c "ulimit -f 1; ! '$shardsim' run good.yaml -o a/b/c -q >/dev/null 2>&1"
check "folders that were made for it go, too" [ "$before" = "$(find . -mindepth 1 -maxdepth 1 | sort)" ]
finish 85
