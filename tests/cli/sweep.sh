#!/usr/bin/env bash
# shardsim sweep: axes, conditions, planners, kept plans; the same bytes for any -j and however often it is killed; what it
# refuses. Usage: sweep.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

# scenario FILE SWEEP...: the toy, 8 GPUs, with these lines under `sweep`.
scenario() {
  local file=$1
  shift
  printf 'schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: row_wise}\npayload: planned\nsweep:\n' >"$file"
  printf '  %s\n' "$@" >>"$file"
}
column() { python3 -c 'import csv, sys; [print(row[sys.argv[2]]) for row in csv.DictReader(open(sys.argv[1]))]' "$1" "$2"; }
cell() { column "$1" "$3" | sed -n "$2p"; }
same_results() { cmp -s "$1/sweep.csv" "$2/sweep.csv" && cmp -s "$1/sweep.h5" "$2/sweep.h5" && cmp -s "$1/report.html" "$2/report.html"; }

echo "-- points"
scenario grid.yaml 'axes:' '  cluster.nics.rate: {from: 10 Gbit/s, to: 40 Gbit/s, step: 10 Gbit/s}' \
  '  workload.batch_per_gpu: [16, 32]' '  planner: [row_wise, {label: two tiers, name: flexshard_2tier, memory_budget: "0 B"}]'
run sweep grid.yaml -o grid -j 2
check "a grid runs ($code): $(cat streams/err)" [ "$code" -eq 0 ]
check "its count is said before: $(cat streams/err)" grep -q '^note: 16 points (4 x 2 x 2)$' streams/err
check "the place of the page is told" grep -q '^report: grid/report.html$' streams/err
check "a row per point" [ "$(wc -l <grid/sweep.csv)" -eq 17 ]
check "the first axis changes slowest" [ "$(column grid/sweep.csv 'cluster.nics.rate [Gbit/s]' | tr '\n' ' ')" = "10 10 10 10 20 20 20 20 30 30 30 30 40 40 40 40 " ]
check "planners by their labels" [ "$(column grid/sweep.csv planner | sed -n 1,2p | tr '\n' ' ')" = "row_wise two tiers " ]
check "no line of the table is wider than 100 columns" [ "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' streams/out)" -le 100 ]

# Points are what `run` gives for the same settings.
for point in 1 8 15; do
  rate=$(cell grid/sweep.csv $((point + 1)) 'cluster.nics.rate [Gbit/s]') batch=$(cell grid/sweep.csv $((point + 1)) workload.batch_per_gpu)
  planner='{name: row_wise}'
  [ "$(cell grid/sweep.csv $((point + 1)) planner)" = row_wise ] || planner='{name: flexshard_2tier, memory_budget: "0 B"}'
  run run grid.yaml --set "cluster.nics.rate=$rate Gbit/s" --set "workload.batch_per_gpu=$batch" --set "planner=$planner" --json -o single
  check "point $point equals a run of its own" \
    [ "$(jq -c '.cases[0] | [.iteration_ms, .interval.low_ms, .interval.high_ms, .samples_per_s]' streams/out | tr -d '[]')" = "$(for name in iteration_ms low_ms high_ms samples_per_s; do cell grid/sweep.csv $((point + 1)) "$name"; done | paste -sd,)" ]
done

echo "-- duplicates"
# What a first screen says of index_dedup is what a run of that case says.
printf 'schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: row_wise}\nsweep: {axes: {workload.batch_per_gpu: [32, 64]}}\n' >equal_ids.yaml
run run equal_ids.yaml --set workload.batch_per_gpu=64 --json -o equal_ids_run
with=$(jq '.cases[0].iteration_ms_without_duplicates' streams/out)
"$shardsim" sweep equal_ids.yaml -q -o equal_ids 2>&1 | tr '\n' ' ' >screen.txt
check "a sweep says what index_dedup takes off its best point ($with): $(cat screen.txt)" python3 -c '
import re, sys
said = re.search(r"index_dedup: true. .*the best point takes ([0-9.]+) instead of", open("screen.txt").read())
assert abs(float(said[1]) / float(sys.argv[1]) - 1) < 1e-2' "$with"
check "and the page" grep -q 'the best point takes' equal_ids/report.html

echo "-- notes"
printf 'schema: shardsim.scenario/1\ncluster: {base: dgx_h100, nodes: 2}\nworkload: toy_history\nplanner: {name: row_wise}\ncompute_model: {name: roofline}\nsweep: {axes: {cluster.nics.rate: ["200 Gbit/s", "800 Gbit/s"]}}\n' >fast.yaml
run sweep fast.yaml -o fast -q
note=$(sed -n '/^NOTES/,/^$/p' streams/out | tr -s '\n ' '  ')
check "a NIC that is faster than its slot is told: $note" grep -q '1 of 2 points: The NICs of .dgx_h100. (100 GB/s per GPU) are faster than their PCIe' <<<"$note"
check "... and a guess of the compute model: $note" grep -q "all points: Lookups and updates are timed by the compute model 'roofline'" <<<"$note"
check "the page says so, too" grep -q 'are faster than their PCIe' fast/report.html

echo "-- how sure"
# The chance and the regret are those that `run` gives for the same two planners.
run run grid.yaml --set 'cluster.nics.rate=10 Gbit/s' --set workload.batch_per_gpu=16 \
  --set 'planners=[row_wise, {label: two_tiers, name: flexshard_2tier, memory_budget: "0 B"}]' --json -o compared
check "run compares them ($code): $(cat streams/err)" [ "$code" -eq 0 ]
check "as the sweep does" python3 - <<'P'
import csv, json
rows = list(csv.DictReader(open("grid/sweep.csv")))
[choice] = json.load(open("compared/result.json"))["choices"]
[other] = choice["faster_than"]
slower = max(rows[:2], key=lambda row: float(row["iteration_ms"]))
faster = min(rows[:2], key=lambda row: float(row["iteration_ms"]))
assert faster["chance"] == "" and abs(float(slower["chance"]) - other["chance"]) < 1e-9, (slower, other)
assert abs(float(faster["regret_pct"]) - choice["regret_pct"]) < 1e-9, (faster, choice)
assert float(slower["regret_pct"]) > float(faster["regret_pct"])
for row in rows:
    assert 0 < float(row["low_ms"]) < float(row["iteration_ms"]) < float(row["high_ms"])
P
run sweep grid.yaml -o grid -q
check "the table says so for each of the eight worlds: $(cat streams/out)" [ "$(sed -n '/^HOW SURE/,/^$/p' streams/out | grep -cE '^  [0-9]+ Gbit/s, (16|32) ')" -eq 8 ]
check "and the page" grep -q 'expected regret' grid/report.html
check "a range on a cluster that nobody measured is marked, as run does: $(cat streams/out)" grep -qE '[0-9]-[0-9.]+[?]  ' streams/out
check "and on the page" grep -qE '[0-9]-[0-9.]+[?]' grid/report.html

# A case whose iteration is published is judged without the errors of its own system, whoever asks.
{
  printf 'schema: shardsim.scenario/1\ncluster: {base: dgx_a100_80gb, nodes: 1}\nworkload: toy_history\nplanner: {name: row_wise}\n'
  printf 'cases: [{name: a, published: [{quantity: iteration, value: 1 ms, role: predicted, source: none}]}]\n'
  printf 'sweep: {axes: {workload.batch_per_gpu: [16, 32]}}\n'
} >published.yaml
sed 's/, published: .*source: none}\]//' published.yaml >unpublished.yaml
for name in published unpublished; do
  run run $name.yaml --set workload.batch_per_gpu=32 --json -o ran_$name
  jq -r '.cases[0].interval | [.low_ms, .high_ms] | join(" ")' streams/out >$name.ran
  jq -r '.cases[0].interval.outside | join("; ")' streams/out >$name.outside
  run sweep $name.yaml -q -o swept_$name
  check "$name: run and sweep state one range: $(cat streams/err)" [ "$(cat $name.ran)" = "$(cell swept_$name/sweep.csv 2 low_ms) $(cell swept_$name/sweep.csv 2 high_ms)" ]
  check "$name: and what was never measured, which it does not count" [ "$(cat $name.outside)" = "$(cell swept_$name/sweep.csv 2 outside)" ]
done
check "which is another one where its own system counts" bash -c '! cmp -s published.ran unpublished.ran'

# A model that is published on its own cluster is so for a sweep, too, whose scenario states no published time.
run run "$source/scenarios/flexshard.yaml" --case rm1/row_wise --json -o ran_rm1
jq -r '.cases[0].interval | [.low_ms, .high_ms] | join(" ")' streams/out >rm1.ran
run sweep "$source/scenarios/sweep_planners.yaml" -q -o swept_rm1 --set 'sweep={axes: {workload.batch_per_gpu: [2048, 4096]}}'
check "a published model has one range: $(cat streams/err)" [ "$(cat rm1.ran)" = "$(cell swept_rm1/sweep.csv 2 low_ms) $(cell swept_rm1/sweep.csv 2 high_ms)" ]
check "a sweep over batches says what takes as long at each of them" grep -q 'takes 102 ms at every batch' streams/out

echo "-- rows in host memory"
scenario host.yaml 'axes: {planner: [row_wise, {label: spilt, name: torchrec, constraints: {history: {compute_kernels: [fused_uvm_caching]}}}]}'
run sweep host.yaml -o host -q
check "sweep.csv has the bytes of a node ($code): $(cat streams/err)" python3 -c '
import csv
inside, spilt = (float(row["host_gib"]) for row in csv.DictReader(open("host/sweep.csv")))
assert inside == 0 and spilt > 0, (inside, spilt)'
check "the point is marked: $(cat streams/out)" grep -qE '^  spilt .* \+host ' streams/out
check "the note says how much" grep -q '^1 of 2 points: Rows stand in host memory, up to' streams/out
check "the page, too" grep -q 'Rows stand in host memory' host/report.html
run plan host.yaml --set 'planner={name: torchrec, constraints: {history: {compute_kernels: [fused_uvm_caching]}}}' -o spilt.json
check "plan says it beside the memory of the GPUs: $(cat streams/err)" grep -q '^note: Rows and optimizer states of table history take .* GiB of the host memory of node 0' streams/err

echo "-- between machines"
scenario machines.yaml 'axes: {cluster: [{base: hgx_h100_8x400g, label: ib, nodes: 2}, {base: hgx_h100_8x400g_roce, label: roce, nodes: 2}, {base: hgx_b200_8x400g, label: b200, nodes: 2}, {base: hgx_b200_8x400g, label: b200_4, nodes: 4}]}'
run sweep machines.yaml -o machines -q
said=$(tr -s '\n ' ' ' <streams/out)
check "chances are told between clusters ($code): $said" grep -qE 'Between machines.* b200 +(ib; roce|b200_4) +[0-9.]+' -i <<<"$said"
check "clusters that come out alike are named: $said" grep -q "Not told apart: 'hgx_h100_8x400g' and 'hgx_h100_8x400g_roce' come out alike" <<<"$said"
check "and no chance is stated between them: $said" grep -qE '(ib +roce|roce +ib) +equal' <<<"$said"
check "scaling is within one machine" [ "$(column machines/sweep.csv scaling_efficiency | sed -n 1,3p | tr '\n' ' ')" = "  1 " ]
check "and has a value at its other size" [ -n "$(cell machines/sweep.csv 4 scaling_efficiency)" ]
check "a line of the chart for it alone: the page has no other" grep -q 'Each line is one machine' machines/report.html

sed 's/nodes: /cost_per_gpu_hour: 0, nodes: /g' machines.yaml >free.yaml
run sweep free.yaml -o free -q --sort cost
check "machines that cost nothing can be sorted by cost ($code): $(cat streams/err)" [ "$code" -eq 0 ]

echo "-- the simulated peak of memory"
run sweep "$source/scenarios/sweep_nics_batch.yaml" -o peak -q --set cluster.gpu.hbm='8.5 GiB'
check "points whose peak is above the capacity keep their results ($code): $(cat streams/err)" [ "$code" -eq 0 ]
check "as many as sweep.csv has" [ "$(paste -d' ' <(column peak/sweep.csv peak_gib) <(column peak/sweep.csv memory_capacity_gib) |
  awk '$1 > $2 { n++ } END { print n + 0 }')" -eq 8 ]
said=$(tr -s '\n ' ' ' <streams/out)
check "the summary warns of them: $said" grep -q 'WARNING: 8 points would need more memory than a GPU has at the simulated peak' <<<"$said"
check "names them: $said" grep -qE 'by the memory model: rate [0-9]+ Gbit/s, batch_per_gpu [0-9]+; [^.]*; and 5 more\.' <<<"$said"
check "marks them in the table" grep -qE ' over +' streams/out
check "and names the fastest that fits" grep -q 'the fastest that fits has rate 400 Gbit/s, batch_per_gpu 2048\.' <<<"$said"

echo "-- sorted, with a currency, and notes of all points"
sorted() { run sweep "$1" -o "sorted_$2" -q --sort "$2" --force; first=$(sed -n '/^POINTS/,/^$/p' streams/out | grep -E '^ *[0-9]+ Gbit' | sed -n 1p); }
priced='cluster: {base: toy_2x4, cost_per_gpu_hour: 3, currency: EUR}'
sed "s|^cluster: .*|$priced|" grid.yaml >priced.yaml
run sweep grid.yaml -o unpriced --sort cost
check "where a point may have a price, but none has, that is said: $(cat streams/err)" grep -q '^note: not sorted by cost: no point has a price' streams/err
for figure in samples iteration cost memory; do
  sorted priced.yaml $figure
  check "sorted by $figure ($code): $(cat streams/err)" grep -qE '^POINTS, (most samples per second|shortest iteration|least cost of a million samples|least memory) first' streams/out
done
sorted priced.yaml iteration
check "the shortest iteration stands first: $first" [ "$(awk '{ print $5 }' <<<"$(sed 's/two tiers/two_tiers/; s/ Gbit/_Gbit/' <<<"$first")")" = "$(printf '%.4f' "$(column sorted_iteration/sweep.csv iteration_ms | sort -g | sed -n 1p)")" ]
check "the cost has its currency" grep -q 'cost EUR' streams/out
check "and the page has it, too" grep -q 'cost EUR' sorted_iteration/report.html
said() { tr -s '\n ' ' ' <"$1" | grep 'A GPU hour has one price for all values of cluster.nics.rate' >/dev/null; }
check "one price for all rates of NICs is said" said streams/out
run sweep grid.yaml -o unpriced -q --force
check "but where there is none, nothing of it" bash -c '! grep -q "GPU hour has one price" streams/out'
scenario priced_rates.yaml 'zip: {cluster.nics.rate: [10 Gbit/s, 20 Gbit/s], cluster.cost_per_gpu_hour: [3, 4]}'
run sweep priced_rates.yaml -o priced_rates -q
check "nor where the price changes, too ($code)" bash -c '! grep -q "GPU hour has one price" streams/out && [ '"$code"' -eq 0 ]'
scenario two.yaml 'axes: {workload.batch_per_gpu: [16, 32]}'
refuse 2 'argument --sort: no point has a price.*cost_per_gpu_hour' sweep two.yaml -o none -q --sort cost
scenario many.yaml 'axes: {workload.batch_per_gpu: {from: 16, to: 192, step: 16}}'
run sweep many.yaml --set cluster=dgx_h100 --set "compute_model={name: roofline}" -o many -q
check "notes count all points, those that are not shown, too: $(cat streams/out)" grep -q "^all points: Lookups and updates are timed" streams/out

echo "-- the same bytes"
run sweep grid.yaml -o one -j 1 -q
check "-q keeps stderr empty" [ ! -s streams/err ]
check "-j 1 and -j 2 give the same bytes" same_results grid one
run sweep grid.yaml -o grid
check "a finished sweep is not simulated again" grep -q '^note: 16 of them were finished before$' streams/err
check "and gives the same bytes" same_results grid one

echo "-- killed in the middle"
# Thousands of points, five times over: with a known placement of the hot rows each takes a quarter of the time, and how points
# are kept does not depend on it. The sweeps of the parts before and behind this one draw placements.
scenario many.yaml 'random: {points: 3000, seed: 3, axes: {cluster.nics.rate: {from: 10 Gbit/s, to: 100 Gbit/s, scale: log}, workload.batch_per_gpu: {from: 8, to: 64}}}'
echo 'load: {placement: 0}' >>many.yaml
run sweep many.yaml -o whole -q
check "3,000 drawn points ($code): $(cat streams/err)" [ "$code" -eq 0 ]
# grown BYTES: so much is finished.
ended_all() { ! kill -0 -- "-$1"; }
grown() { [ "$(stat -c %s killed/points/local.points)" -ge "$1" ]; }
for signal in KILL INT TERM; do
  before=$(stat -c %s killed/points/local.points 2>/dev/null || echo 0)
  setsid env --default-signal=INT,TERM "$shardsim" sweep many.yaml -o killed -j 2 -q >streams/out 2>streams/err </dev/null &
  main=$!
  check "points are kept while it runs" until_true grown $((before + 10000))
  kill -STOP -- "-$main"  # or it may be through before the rest of this
  if [ "$signal" = INT ]; then
    code=0
    "$shardsim" sweep many.yaml -o killed >streams/second 2>&1 </dev/null || code=$?
    check "a second process is refused at once ($code): $(cat streams/second)" [ "$code" -eq 1 ]
    check "with one error" grep -q '^error: killed: another shardsim is writing to this folder' streams/second
  fi
  kill "-$signal" "$main"
  kill -CONT -- "-$main"
  code=0
  wait "$main" || code=$?
  case $signal in KILL) due=137 ;; INT) due=130 ;; TERM) due=143 ;; esac
  check "$signal ends it with $due, not $code" [ "$code" -eq $due ]
  check "its workers end, too, which hold the folder until then" until_true ended_all "$main"
  check "no result is written yet" [ ! -e killed/sweep.csv ]
done
printf 'half a record' >>killed/points/local.points
run sweep many.yaml -o killed
check "the next call goes on: $(cat streams/err)" grep -qE '^note: [0-9,]+ of them were finished before$' streams/err
check "and gives the same bytes" same_results whole killed

echo "-- parts"
for part in 2 0 1; do
  run sweep many.yaml -o parts --part $part/3
  check "part $part/3 ($code): $(cat streams/err)" [ "$code" -eq 0 ]
done
check "whoever ends last writes the results" same_results whole parts
refuse 2 'argument --part: .*K/N' sweep many.yaml -o parts2 --part 3/3
refuse 2 'argument --part: .*K/N' sweep many.yaml -o parts2 --part one
refuse 2 'argument --slurm: "many"' sweep many.yaml -o parts --slurm many
refuse 2 'argument --part: --part and --slurm cannot be used together' sweep many.yaml -o parts --slurm 2 --part 0/3

echo "-- files of points that are another sweep's"
scenario own.yaml 'axes: {cluster.nodes: [2, 4]}'
run sweep own.yaml -o own -q
check "a sweep runs ($code): $(cat streams/err)" [ "$code" -eq 0 ]
mv own/points/sweep.txt .
run sweep own.yaml -o own
check "without sweep.txt its points are still known: $(cat streams/err)" grep -q '^note: 2 of them were finished before$' streams/err
rm own/points/sweep.txt
refuse 2 '^error: own/points/local.points: it holds points of another sweep\. .*-o' sweep own.yaml -o own --set workload.batch_per_gpu=64
run sweep own.yaml -o own
check "which goes on there: $(cat streams/err)" grep -q '^note: 2 of them were finished before$' streams/err
run sweep own.yaml -o moved -q --set workload.batch_per_gpu=64
cp own/points/local.points moved/points/
refuse 2 'moved/points/local.points: it holds points of another sweep' sweep own.yaml -o moved -q --set workload.batch_per_gpu=64
run sweep own.yaml -o array -q --part 0/2
cp own/points/local.points array/points/part-1-of-2.points
run sweep own.yaml -o array -q --part 1/2
check "parts of an array take the points of their sweep ($code): $(cat streams/err)" same_results own array
run sweep own.yaml -o array2 -q --part 0/2 --seed 9
cp own/points/local.points array2/points/part-1-of-2.points
touch array2/points/part-1-of-2.lock
refuse 2 'array2/points/part-1-of-2.points: it holds points of another sweep' sweep own.yaml -o array2 -q --part 1/2 --seed 9
printf 'shardsim points/2\nold' >own/points/old.points
run sweep own.yaml -o own
check "a file of an older version is named: $(cat streams/err)" grep -q '^note: own/points/old.points is not used: it is of another version' streams/err
cp "$source/scenarios/workloads/toy_history.yaml" mine.yaml
scenario axis.yaml 'axes: {workload: [mine.yaml, toy_history]}'
run sweep axis.yaml -o axis -q
sed -i 's/^batch_per_gpu: .*/batch_per_gpu: 99/' mine.yaml
refuse 2 'axis/points/sweep.txt: axis.yaml has changed' sweep axis.yaml -o axis -q
for folder in pipe room; do
  run sweep own.yaml -o $folder -q
  rm $folder/points/local.points
done
mkfifo pipe/points/local.points
mkdir room/points/local.points
ends_within=20 refuse 1 'pipe/points/local.points: cannot write it: it is a link, a folder, a pipe or a device\. Remove it' sweep own.yaml -o pipe -q
refuse 1 'room/points/local.points: cannot write it: it is a link, a folder' sweep own.yaml -o room -q

echo "-- points that fail"
scenario fails.yaml 'axes: {cluster.nodes: [0, 1, 2], cluster.gpu.hbm: [300 KiB, 16 GiB]}'
run sweep fails.yaml -o fails
check "points that fail end it with 1, not $code" [ "$code" -eq 1 ]
check "their number is told: $(cat streams/err)" grep -qE '^error: 4 of 6 points have no result \(2 of them do not fit in memory\)' streams/err
check "each is recorded" [ "$(column fails/sweep.csv outcome | tr '\n' ' ')" = "failed failed does_not_fit ok does_not_fit ok " ]
check "with its message" grep -q 'cluster.nodes\|nodes' fails/sweep.csv
printf 'schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: row_wise}\npayload: planned\ncases: [{name: slow}]\nsweep: {case: slow, axes: {cluster.nics.latency: [9e5 s, 1 us]}}\n' >slow.yaml
run sweep slow.yaml -o slow
check "what runs too long is a failed point ($code)" [ "$code" -eq 1 ]
check "that names the case of the sweep" grep -qE 'case "+slow"+: it would run for over 1000000 s' slow/sweep.csv
scenario kept.yaml 'keep_plan: true' 'axes: {cluster.nodes: [2, 4]}'
run sweep kept.yaml -o kept
check "a kept plan of another world is a failed point ($code)" [ "$code" -eq 1 ]
check "and says where its case is" grep -qE '(^|[",])kept.yaml:[0-9]+:[0-9]+: case .*the kept plan was made for 8 GPUs, but this point has' kept/sweep.csv
check "the base's world goes on" [ "$(column kept/sweep.csv outcome | tr '\n' ' ')" = "ok failed " ]

scenario kept_jobs.yaml 'keep_plan: true' 'axes: {planner: [row_wise, {name: random, seed: 3}], cluster.nics.rate: {from: 10 Gbit/s, to: 40 Gbit/s, step: 1 Gbit/s}}'
run sweep kept_jobs.yaml -o kept1 -j 1 -q
run sweep kept_jobs.yaml -o kept2 -j 2 -q
check "plans that are made before processes are started give the same bytes for any -j" same_results kept1 kept2

echo "-- cases of other files, and values that go"
printf 'schema: shardsim.scenario/1\ncluster: {base: toy_2x4, nodes: 4, cost_per_gpu_hour: 3}\nworkload: toy_history\nplanner: {name: row_wise}\npayload: planned\ncases: [{name: one}, {name: two, overlap: false}]\n' >inner.yaml
printf 'schema: shardsim.scenario/1\ninclude: [inner.yaml]\nsweep: {case: two, axes: {cluster.nics.rate: [10 Gbit/s, 20 Gbit/s]}}\n' >outer.yaml
run sweep outer.yaml -o outer
check "a case of an included file is swept ($code): $(cat streams/err)" [ "$code" -eq 0 ]
run run inner.yaml --case two --set 'cluster.nics.rate=20 Gbit/s' --json -o single
check "as it is there" [ "$(jq '.cases[0].iteration_ms' streams/out)" = "$(cell outer/sweep.csv 2 iteration_ms)" ]
run sweep outer.yaml --case one -o outer_one
check "--case names one, too ($code): $(cat streams/err)" [ "$code" -eq 0 ]
refuse 2 'unknown case "three".*two' sweep outer.yaml --case three -o bad
printf 'schema: shardsim.scenario/1\ninclude: [inner.yaml]\nsweep: {case: one, axes: {cluster: [toy_2x4, {base: toy_2x4, nodes: 1}]}}\n' >whole.yaml
run sweep whole.yaml -o whole_axis
check "what an axis over a whole cluster drops is said: $(cat streams/err)" grep -q '^note: the axis cluster replaces the whole cluster of one; dropped with it: cost_per_gpu_hour, nodes\.' streams/err
check "and it is dropped" [ "$(column whole_axis/sweep.csv world_size | tr '\n' ' ')" = "8 4 " ]
printf 'schema: shardsim.scenario/1\ninclude: [inner.yaml]\nsweep: {case: one, axes: {cluster.nodes: [4], cluster.cost_per_gpu_hour: [3], cluster: [toy_2x4, {base: toy_2x4, label: other}]}}\n' >parts.yaml
run sweep parts.yaml -o parts_axis
check "axes over parts hold, whatever their order: $(cat streams/err)" [ "$(column parts_axis/sweep.csv world_size | tr '\n' ' ')" = "16 16 " ]
check "and nothing is dropped" [ "$(grep -c 'dropped' streams/err)" -eq 0 ]
sed 's/label: other/nodes: 1/' parts.yaml >both.yaml
refuse 2 'both.yaml:3:[0-9]+: axis "cluster.nodes" changes what the value .* of axis "cluster" states' sweep both.yaml -o bad
refuse 2 'argument --set cluster.nodes.*axis' sweep whole.yaml -o bad --set cluster.nodes=2

echo "-- worlds and cost"
scenario worlds.yaml 'zip: {cluster.nodes: [1, 2, 4], workload.batch_per_gpu: [64, 32, 16]}' 'axes: {cluster.cost_per_gpu_hour: [1, 3]}' 'where: [cluster.cost_per_gpu_hour * cluster.nodes <= 6]'
run sweep worlds.yaml -o worlds
check "zipped axes and conditions ($code): $(cat streams/err)" grep -q '^note: 5 points (2 x 3), 1 left out by conditions$' streams/err
check "the smallest world scales with 1" [ "$(cell worlds/sweep.csv 1 scaling_efficiency)" = 1 ]
check "a larger one by its samples per GPU" python3 - <<'P'
import csv
rows = list(csv.DictReader(open("worlds/sweep.csv")))
a, b = (float(row["samples_per_s"]) / float(row["world_size"]) for row in rows[:2])
assert abs(float(rows[1]["scaling_efficiency"]) - b / a) < 1e-12
assert abs(float(rows[1]["cost_per_million_samples"]) - 8 / 3600 * 1e6 / float(rows[1]["samples_per_s"])) < 1e-9
P
if python3 -c 'import h5py, pandas' 2>/dev/null; then
  check "pandas reads sweep.h5" python3 - <<'P'
import csv, h5py, pandas
with h5py.File("worlds/sweep.h5") as f:
    table = pandas.DataFrame({name: f[name].asstr()[:] if f[name].dtype.kind == "O" else f[name][:] for name in f})
    assert f["iteration_ms"].attrs["units"] == "ms"
rows = list(csv.DictReader(open("worlds/sweep.csv")))
assert len(table) == 5 and [float(row["iteration_ms"]) for row in rows] == list(table["iteration_ms"])
P
fi

echo "-- bad input"
scenario none.yaml 'axes: {cluster.nics.speed: [10 Gbit/s]}'
refuse 2 'none.yaml:7:.*speed' sweep none.yaml -o bad
scenario head.yaml 'axes: {klaster.nodes: [2]}'
refuse 2 'head.yaml:7:.*cluster' sweep head.yaml -o bad
scenario empty.yaml 'axes: {cluster.nodes: []}'
refuse 2 'empty.yaml:7:.*no values' sweep empty.yaml -o bad
scenario huge.yaml 'axes: {cluster.nics.rate: {from: 1 Gbit/s, to: 1000 Gbit/s, step: 1 Gbit/s}, workload.batch_per_gpu: {from: 1, to: 1000, step: 1}, cluster.nodes: [1, 2, 4]}'
refuse 2 '3,000,000 points \(1,000 x 1,000 x 3\).*--most-points' sweep huge.yaml -o bad
scenario endless.yaml 'axes: {cluster.nics.rate: {from: 1 Gbit/s, to: 1000 Gbit/s, step: 0 Gbit/s}}'
refuse 2 'never reaches its end' sweep endless.yaml -o bad
scenario units.yaml 'axes: {cluster.nics.rate: {from: 1 Gbit/s, to: 1000, factor: 2}}'
refuse 2 'different units' sweep units.yaml -o bad
scenario nothing.yaml 'axes: {cluster.nodes: [1, 2]}' 'where: cluster.nodes > 2'
refuse 2 'none of the 2 points' sweep nothing.yaml -o bad
scenario words.yaml 'axes: {cluster.nodes: [1, 2]}' 'where: cluster.knots > 2'
refuse 2 'cluster.knots.*neither an axis nor a value' sweep words.yaml -o bad
scenario zipped.yaml 'zip: {cluster.nodes: [1, 2], workload.batch_per_gpu: [1, 2, 3]}'
refuse 2 'zipped axes have 2 and 3 values' sweep zipped.yaml -o bad
scenario twice.yaml 'axes: {cluster.nodes: [1, 1]}'
refuse 2 'twice' sweep twice.yaml -o bad
scenario zipped_twice.yaml 'zip: {cluster.nodes: [1, 2, 1], cluster.cost_per_gpu_hour: [3, 3, 3]}'
refuse 2 'zipped axes have "cluster.nodes" "1", "cluster.cost_per_gpu_hour" "3" twice' sweep zipped_twice.yaml -o bad
scenario zipped.yaml 'zip: {cluster.nodes: [1, 2], cluster.cost_per_gpu_hour: [3, 3]}'
run sweep zipped.yaml -q -o zipped
check "zipped axes may have a value twice: $(cat streams/err)" [ "$(grep -c ',ok,' zipped/sweep.csv)" -eq 2 ]
refuse 2 "has no 'sweep'" sweep "$source/scenarios/toy.yaml" -o bad
refuse 2 'argument --set cluster.nics.rate.*axis' sweep grid.yaml -o bad --set 'cluster.nics.rate=1 Gbit/s'
refuse 2 'holds the points of another sweep' sweep worlds.yaml -o grid
refuse 2 'has changed since' sweep grid.yaml -o grid --set iterations=3
refuse 2 'argument --most-points' sweep grid.yaml -o bad --most-points 0
refuse 2 'argument --most-points: .*to 4,294,967,295' sweep grid.yaml -o bad --most-points 4294967296
refuse 2 'case "nope"' sweep grid.yaml -o bad --most-points 4294967295 --case nope
check "an override allows more points" "$shardsim" sweep grid.yaml -o more --most-points 16 -q
refuse 2 '16 points .*15 are allowed' sweep grid.yaml -o bad --most-points 15
scenario values.yaml 'axes:' '  planner: [row_wise, row_wize, {label: three, name: flexshard_3tier, cutt: paper}]' '  cluster.nics.rate: [80 Gbit/s, "1,5 GB/s"]'
run check values.yaml
check "wrong values of axes are bad input, not $code" [ "$code" -eq 2 ]
check "each is told at its place: $(cat streams/err)" [ "$(grep -oE '^error: values.yaml:[0-9]+:[0-9]+: [a-z.]+:? [^ ]+' streams/err | tr '\n' ' ')" = \
  "error: values.yaml:8:25: unknown planner error: values.yaml:8:73: unknown key error: values.yaml:9:36: nics.rate: \"1,5 " ]
run sweep values.yaml -o values
check "a sweep goes on without them, not $code" [ "$code" -eq 1 ]
check "and names the three before: $(cat streams/err)" [ "$(grep -c '^note: no point has a result with this value: values.yaml:[89]:' streams/err)" -eq 3 ]
check "one point is left" [ "$(column values/sweep.csv outcome | tr '\n' ' ')" = "ok failed failed failed failed failed " ]
scenario meets.yaml 'axes: {cluster.gpu.hbm: [1 KiB, 16 GiB], workload.batch_per_gpu: [16, 32]}'
run check meets.yaml
check "what does not fit is no bad input: $(cat streams/err)" [ "$code" -eq 0 ]
run check grid.yaml
check "check knows sweeps: $(cat streams/out)" grep -q 'a sweep of 16 points' streams/out
run check none.yaml
check "and finds what is wrong with them" [ "$code" -eq 2 ]
run run grid.yaml -o plain
check "run simulates the case as it is ($code)" [ "$code" -eq 0 ]

echo "-- no room"
# A limit of the size of files is to a program what a full disk is.
code=0
(ulimit -f 100; exec "$shardsim" sweep many.yaml -o full -q >/dev/null 2>streams/err </dev/null) || code=$?
check "a full disk is one error ($code): $(cat streams/err)" [ "$(grep -c '^error: .*local.points: cannot write it' streams/err)" -eq 1 ]
check "with 1" [ "$code" -eq 1 ]
run sweep many.yaml -o full
check "with room again it goes on: $(cat streams/err)" grep -q 'were finished before' streams/err
check "to the same bytes" same_results whole full

finish 60
