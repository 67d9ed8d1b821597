#!/usr/bin/env bash
# shardsim compare and convert, end to end: exit codes, figures under their names, files whole or absent, and one clear
# line for what cannot be compared. Usage: compare.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
toy=$source/scenarios/toy.yaml
traces=$source/tests/program/data/kineto

"$shardsim" run "$toy" -o toy --trace all -q >/dev/null
cp toy/timeline.h5 p.h5
mapfile -t cases < <(jq -r '.cases[].name' toy/result.json)

# observe FACTOR FILE: the case row_wise as if it had been seen FACTOR times as long.
observe() {
  "$shardsim" convert p.h5 --case row_wise -o - | jq --argjson f "$1" '.kind = "observed" | .iteration_ms *= $f
    | .spans.start_us |= map(. * $f) | .spans.end_us |= map(. * $f)' >"$2"
}

echo "-- convert"
run convert p.h5 --case row_wise -o row_wise.timeline.json
check "to JSON: $(cat streams/err)" [ "$code" -eq 0 ]
run convert row_wise.timeline.json -o row_wise.h5
check "to HDF5: $(cat streams/err)" [ "$code" -eq 0 ]
run convert row_wise.h5 -o again.timeline.json
check "and back to the same bytes" cmp -s row_wise.timeline.json again.timeline.json
run convert row_wise.timeline.json -o row_wise.h5
check "a file of timelines may be overwritten" [ "$code" -eq 0 ]
printf 'mine' >mine.h5
refuse 2 'mine.h5: the file exists, and .shardsim convert. is not known to have written it' convert row_wise.timeline.json -o mine.h5
refuse 2 'argument --output: the option is missing.*--output FILE' convert again.timeline.json
refuse 2 'argument --output: the option is missing.*--output FILE' convert row_wise.h5
refuse 2 'argument --case: the file has several cases.*row_wise' convert p.h5 -o x.json
refuse 2 "argument --case: unknown case \"row_wize\". Did you mean 'row_wise'" convert p.h5 --case row_wize -o x.json
rm mine.h5

echo "-- a prediction beside itself"
run compare p.h5 p.h5 --tolerance 0.01%
check "is off by nothing: $(cat streams/err)" [ "$code" -eq 0 ]
for name in "${cases[@]}"; do check "case $name is there" grep -q -- "^  $name " streams/out; done
check "no text is wider than 100 columns" [ "$(awk '!/^  / { if (length($0) > most) most = length($0) } END { print most }' streams/out)" -le 100 ]
check "nothing on stderr" [ ! -s streams/err ]
run compare p.h5 p.h5 --json
check "--json holds all cases" [ "$(jq '.cases | length' streams/out)" -eq "${#cases[@]}" ]
check "and every error is 0" jq -e 'all(.cases[]; .iteration.error_pct == 0 and all(.operations[], .classes[]; .error_pct == 0))' streams/out >/dev/null

check "both sides are predictions, and called so" jq -e 'all(.cases[]; .sides == ["first", "second"])' streams/out >/dev/null
run compare p.h5 p.h5 --case row_wise
check "in the table, too" grep -q 'first ms  *second ms' streams/out
check "nothing is called observed there" [ -z "$(grep -E 'observed ms|iteration observed' streams/out || true)" ]

echo "-- one slow GPU"
jq -n '{schema: "shardsim.scenario/1", title: "slow", workload: $w, planner: {name: "row_wise"}, load: {row_shares: "even"},
  cluster: {base: $c, faults: [{node: 0, gpu: 3, compute_factor: 0.25}]}, cases: [{name: "slow"}]}' \
  --arg w "$source/scenarios/workloads/toy_history.yaml" --arg c "$source/scenarios/clusters/toy_2x4.yaml" >slow.yaml
run run slow.yaml -o slow
check "the table says whom for: $(cat streams/err)" grep -q 'slow, input_all_to_all: .* ms exposed is waiting for rank 3,' streams/out
check "result.json, too" jq -e '.cases[0].collectives[0] | .waited_for.rank == 3 and .waited_for.operation == "update_row_wise"
  and (.transfer_ms + .waiting_ms - .exposed_ms | fabs) < 1e-12' slow/result.json >/dev/null
run compare slow/timeline.h5 slow/timeline.h5 --json
check "and compare" jq -e '.cases[0].waits[0].observed.rank == 3' streams/out >/dev/null

echo "-- tolerance"
observe 1.05 slower.timeline.json
run compare p.h5 slower.timeline.json --case row_wise
check "without a tolerance any error will do" [ "$code" -eq 0 ]
run compare p.h5 slower.timeline.json --case row_wise --tolerance 5% --json
check "within it is 0, not $code" [ "$code" -eq 0 ]
check "the error of 1 against 1.05: $(jq .cases[0].iteration.error_pct streams/out)" jq -e '.cases[0].iteration.error_pct == -4.762' streams/out >/dev/null
run compare p.h5 slower.timeline.json --case row_wise --tolerance 4% --json -o page.html
check "outside it is 4, not $code" [ "$code" -eq 4 ]
check "the object is complete" [ "$(tail -n 1 streams/out)" = "}" ]
check "and says so" jq -e '.within_tolerance == false and .cases[0].outside[0] == "iteration -4.8 %"' streams/out >/dev/null
check "the page is written all the same" grep -q '</html>' page.html
check "it loads nothing" [ -z "$(grep -E '<(img|link|iframe)|<script[^>]* src=' page.html || true)" ]
check "stderr says why" grep -qE '^error: outside the tolerance of 4 %: row_wise: iteration -4.8 %' streams/err
cp page.html first.html
run compare p.h5 slower.timeline.json --case row_wise -o page.html
check "no clock in the page" test -s page.html
run compare p.h5 slower.timeline.json --case row_wise --tolerance 4% -o page.html
check "the same again is the same page" cmp -s page.html first.html
refuse 2 'argument --tolerance: .*10%|argument --tolerance: "10"' compare p.h5 p.h5 --tolerance 10
refuse 2 'argument --tolerance: "-5%" is below 0' compare p.h5 p.h5 --tolerance -5%

echo "-- operations of one side"
jq '.ops[0].name = "else" | .ops[0].class = "send_recv"' slower.timeline.json >other.timeline.json
run compare p.h5 other.timeline.json --case row_wise --json
check "are listed" jq -e '.cases[0].only_observed[0].name == "else" and (.cases[0].only_predicted | length) == 1' streams/out >/dev/null

echo "-- an incomplete run"
jq '.complete = false' slower.timeline.json >cut.timeline.json
run compare p.h5 cut.timeline.json --case row_wise
check "is compared with a note" grep -q 'Note: the observed run ended early' streams/out
jq '.complete = false | .spans |= map_values([])' slower.timeline.json >empty.timeline.json
refuse 2 'empty.timeline.json: .* holds no operation that ran' compare p.h5 empty.timeline.json --case row_wise

echo "-- Kineto traces"
run compare p.h5 --observed-kineto toy/trace/row_wise --case row_wise --tolerance 0.1% --json
check "our own traces are what they were made of: $(cat streams/err)" [ "$code" -eq 0 ]
"$shardsim" run "$source/scenarios/mixed.yaml" -o mixed --trace all -q >/dev/null
for pipeline in sparse_dist prefetch_sparse_dist; do
  run compare mixed/timeline.h5 --observed-kineto mixed/trace/$pipeline --case $pipeline --tolerance 0.1% --json
  check "those of a pipeline, too: $(cat streams/err)" [ "$code" -eq 0 ]
  check "the iteration is off by 0" jq -e '.cases[0] | .iteration.error_pct == 0 and .exposed_comm.error_pct == 0' streams/out >/dev/null
  period=$(jq --arg name $pipeline '.cases[] | select(.name == $name) | .iteration_ms * 1000' mixed/result.json)
  check "the trace is one period long" jq -e --argjson period "$period" \
    '[.traceEvents[] | select(.cat == "kernel") | .ts + .dur] | max <= $period + 0.001' mixed/trace/$pipeline/rank0.json >/dev/null
done
mkdir few
cp toy/trace/row_wise/rank0.json toy/trace/row_wise/rank3.json few/
run compare p.h5 --observed-kineto few --case row_wise
check "of how many ranks there are traces is said: $(cat streams/out)" grep -q 'Only 2 of 8 ranks have traces on both sides' <(tr -s '\n ' ' ' <streams/out)
for kind in nccl_2_14 nccl_2_20; do
  run compare toy_of_two.h5 --observed-kineto "$traces/$kind"
  check "a missing prediction is 2, not $code" [ "$code" -eq 2 ]
done
"$shardsim" run "$toy" --set cluster.nodes=1 --set cluster.gpu.count=2 -o two -q >/dev/null
run compare two/timeline.h5 --observed-kineto "$traces/nccl_2_20" --case row_wise --json
check "traces of PyTorch are compared: $(cat streams/err)" [ "$code" -eq 0 ]
check "by class where names differ" jq -e 'any(.cases[0].operations[]; .class == "all_to_all" and .matched_by == "class")' streams/out >/dev/null
refuse 2 'several cases, and traces do not say to which one' compare p.h5 --observed-kineto toy/trace/row_wise
refuse 2 'observed on 2 ranks, and p.h5 predicts 8' compare p.h5 --observed-kineto "$traces/nccl_2_14" --case row_wise
refuse 2 'nowhere: there is no such file or folder' compare p.h5 --observed-kineto nowhere --case row_wise
refuse 2 'argument --observed-kineto: beside "p.h5"' compare p.h5 p.h5 --observed-kineto toy/trace/row_wise
mkdir broken
head -c 3000 toy/trace/row_wise/rank0.json >broken/rank0.json
refuse 2 'broken/rank0.json:[0-9]+:[0-9]+: not JSON, or cut off' compare p.h5 --observed-kineto broken --case row_wise
rm broken/rank0.json
gzip -c toy/trace/row_wise/rank0.json >broken/rank0.json.gz
run compare p.h5 --observed-kineto broken --case row_wise
cp streams/out compressed.txt
check "a compressed trace is read: $code $(cat streams/err)" [ "$code" -eq 0 ]
mkdir renamed
cp broken/rank0.json.gz renamed/rank0.json
run compare p.h5 --observed-kineto renamed --case row_wise
check "... whatever its name says" cmp -s compressed.txt streams/out
head -c 300 broken/rank0.json.gz >renamed/rank0.json
refuse 2 'renamed/rank0.json:' compare p.h5 --observed-kineto renamed --case row_wise

echo "-- many operations and streams"
# many FILE FILTER: the case row_wise, changed by the filter; with $n a large number and `all(X)`, n spans of the value X.
many() { jq --argjson n 100000 "def all(x): [range(\$n) | x]; .groups = {} | .spans |= map_values(all(0)) | .spans.end_us = all(1) | $2" row_wise.timeline.json >"$1"; }
many ops.timeline.json '.ops = [range($n) | {name: "op\(.)", class: "dense"}] | .spans.op = all(.)'
many streams.timeline.json '.ops[0].class = "all_to_all" | .streams = [range($n) | "s\(.)"] | .spans.stream = all(.)'
for kind in ops streams; do
  ends_within=60 run compare $kind.timeline.json $kind.timeline.json
  check "100,000 $kind are compared within a minute: $code, $(head -c 300 streams/err)" [ "$code" -eq 0 ]
  rm $kind.timeline.json
done
many reach.timeline.json '.spans.iteration = all(.) | .spans.end_us = all(. + 1)'
refuse 2 'reach.timeline.json: its 100000 operations run through 50000 iterations each' compare reach.timeline.json reach.timeline.json
rm reach.timeline.json

echo "-- bad input"
refuse 2 'the observation is missing' compare p.h5
refuse 2 '^error: argument --force: .*only together with --output' compare p.h5 p.h5 --force
refuse 2 'nothing.h5: cannot read it' compare nothing.h5 p.h5
refuse 2 'nothing.h5: cannot read it' compare p.h5 nothing.h5
long=$(printf 'x%.0s' {1..300})
refuse 2 'cannot read it' compare p.h5 "$long"
refuse 2 'there is no such file or folder' compare p.h5 --observed-kineto "$long" --case row_wise
refuse 2 'broken: is a folder.*--observed-kineto' compare p.h5 broken
refuse 2 "p.h5: there is no case \"row_wize\". Did you mean 'row_wise'" compare p.h5 p.h5 --case row_wize
refuse 2 'toy/result.json:[0-9]+:.*shardsim.result/1' compare p.h5 toy/result.json
printf '\211HDF\r\n\032\nand no more' >broken.h5
refuse 2 'broken.h5' compare p.h5 broken.h5
head -c 20000 p.h5 >short.h5
refuse 2 'short.h5' compare p.h5 short.h5
refuse 2 'broken.h5: cannot be opened as HDF5: it is cut off or damaged. Write it again' convert broken.h5 -o x.json
echo 'three words here' >words.txt
refuse 2 'words.txt:1: not JSON: .* is no value. Write a number' compare p.h5 words.txt
head -c 2000 slower.timeline.json >short.timeline.json
refuse 2 'short.timeline.json:[0-9]+: not JSON: (the text ends before|a text is not closed)' compare p.h5 short.timeline.json --case row_wise
for name in '' . .. a/../b "$(printf '/%.0s' {1..500})" "$(printf 'a/%.0s' {1..500})a" "$(printf 'a/%.0s' {1..20})a"; do
  jq --arg name "$name" '.case = $name' row_wise.timeline.json >named.timeline.json
  refuse 2 'named.timeline.json:[0-9]+:[0-9]+: the case name ".*(is empty|has ).*Write at most 16 parts' convert named.timeline.json -o named.h5
done
for ms in 1e300 1e-300 -1; do
  jq --argjson ms $ms '.iteration_ms = $ms' row_wise.timeline.json >impossible.timeline.json
  refuse 2 'impossible.timeline.json:[0-9]+:[0-9]+: an iteration takes .* ms' compare p.h5 impossible.timeline.json --case row_wise
done
jq '.groups = {w: [[0, 0]]}' row_wise.timeline.json >twice.timeline.json
refuse 2 'twice.timeline.json:[0-9]+:[0-9]+: group w holds rank 0 twice in one of its sets' compare p.h5 twice.timeline.json --case row_wise
cp -r toy/trace/row_wise late
for trace in late/*.json; do jq '(.traceEvents[] | select(.cat == "kernel") | .ts) = 1e300' "$trace" >late.json && mv late.json "$trace"; done
refuse 2 'late/rank0.json: .* has an impossible time: 1e.300 us' compare p.h5 --observed-kineto late --case row_wise
: >nought
refuse 2 'nought' compare p.h5 nought
refuse 2 'argument --output: "page.txt" does not end in .html' compare p.h5 p.h5 -o page.txt
refuse 2 'argument --output: "-"' compare p.h5 p.h5 -o -
if [ "$(id -u)" -ne 0 ]; then
  mkdir locked && chmod a-w locked
  refuse 1 'locked' compare p.h5 p.h5 -o locked/page.html
fi
(
  ulimit -f 8
  code=0
  "$shardsim" compare p.h5 p.h5 -o full.html >streams/out 2>streams/err || code=$?
  [ "$code" -eq 1 ] && [ ! -e full.html ] && [ ! -s streams/out ]
) || fail "a full disk is 1 and leaves no page: $(cat streams/err)"
finish 62
