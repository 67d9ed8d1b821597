#!/usr/bin/env bash
# Bad input, end to end: the right exit code, one clear line with file and place, nothing on stdout, no file left behind.
# Usage: bad_input.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"

# A good scenario, cluster and workload in it, which the cases below break one way each.
cat >good.yaml <<'YAML'
schema: shardsim.scenario/1
title: good
planner: {name: row_wise}
seed: 7
iterations: 4
cluster:
  schema: shardsim.cluster/1
  name: small
  nodes: 2
  gpu:
    model: toy
    count: 4
    compute_capability: "8.0"
    hbm: "16 GiB"
    hbm_bandwidth: "1000 GB/s"
    flops: {fp32: "10 TFLOP/s"}
  nvlink: {kind: switch, links_per_gpu: 1, per_link: "100 GB/s"}
  nics: {per_gpu: 1, rate: "80 Gbit/s"}
workload:
  schema: shardsim.workload/1
  name: history
  batch_per_gpu: 32
  tables:
    - name: history
      rows: 8000
      dim: 64
      kind: sequence
      average_length: 20
      access: {family: zipf, s: 1}
YAML
run run good.yaml -o whole
check "the good scenario runs: $(cat streams/err)" [ "$code" -eq 0 ]
"$shardsim" run good.yaml -o whole >streams/both 2>&1
check "stdout and stderr in one file are whole lines, in order" [ "$(tail -n 1 streams/both)" = "report: whole/report.html" ]

# broken SED_EXPRESSION PATTERN: good.yaml changed so is refused by `run` and by `check`.
broken() {
  sed -E "$1" good.yaml >bad.yaml
  if cmp -s good.yaml bad.yaml; then fail "nothing changed by: $1"; fi
  refuse 2 "$2" run bad.yaml
  refuse 2 "$2" check bad.yaml
  rm bad.yaml
}

# file_refused PATTERN: bad.yaml as it lies there is refused by `run` and by `check`.
file_refused() {
  refuse 2 "$1" run bad.yaml
  refuse 2 "$1" check bad.yaml
  rm -rf bad.yaml
}

echo "-- keys"
broken 's/^iterations/iteratons/' 'bad.yaml:5:1: .*iteratons.*iterations'
broken 's/batch_per_gpu/batch_per_cpu/' 'bad.yaml:2[02]:3: .*batch_per_gpu'
broken 's/dim: 64/dims: 64/' 'bad.yaml:2[46]:7: .*dim'
broken '$aseed: 8' 'bad.yaml:30:1: .*seed.*(twice|duplicate|again)'
broken 's/^  nodes: 2/  nodes: 2\n  nodes: 3/' 'bad.yaml:10:3: .*nodes'
broken 's/hbm_bandwidth:.*/&\n    hbm-bandwidth: "1 GB\/s"/' 'bad.yaml:16:5: .*hbm[-_]bandwidth'
broken '/^    count/d' 'bad.yaml:1[01]:[0-9]+: .*count'
broken '/^schema/d' 'bad.yaml:1:1: .*schema'
broken 's|^schema.*|schema: shardsim.scenario/2|' 'bad.yaml:1:9: .*shardsim.scenario/2.*shardsim.scenario/1'
broken 's/^title:.*/<<: {seed: 3}/' 'bad.yaml:2:1: .*<<'
broken 's/^planner:.*/&\nplan: {file: plan.json}/' 'bad.yaml:[34]:[0-9]+: .*plan'

echo "-- units and sizes"
broken 's/hbm: "16 GiB"/hbm: 16/' 'bad.yaml:14:10: .*16 GiB'
broken 's/hbm: "16 GiB"/hbm: "16 GB\/s"/' 'bad.yaml:14:10: .*GB/s'
broken 's/hbm: "16 GiB"/hbm: "16 Gb"/' 'bad.yaml:14:10: .*Gb'
broken 's/hbm: "16 GiB"/hbm: "-16 GiB"/' 'bad.yaml:14:10: '
broken 's/hbm: "16 GiB"/hbm: "nan GiB"/' 'bad.yaml:14:10: '
broken 's/hbm: "16 GiB"/hbm: .nan/' 'bad.yaml:14:10: '
broken 's/hbm: "16 GiB"/hbm: "inf GiB"/' 'bad.yaml:14:10: '
broken 's/hbm: "16 GiB"/hbm: "0 GiB"/' 'bad.yaml:14:10: '
broken 's/hbm: "16 GiB"/hbm: "1e400 GiB"/' 'bad.yaml:14:10: '
broken 's/hbm: "16 GiB"/hbm: "99999999999 TiB"/' 'bad.yaml:14:10: '
broken 's/hbm: "16 GiB"/hbm: [16, GiB]/' 'bad.yaml:14:10: '
broken 's/hbm_bandwidth: .*/hbm_bandwidth: "0 GB\/s"/' 'bad.yaml:15:20: '
broken 's/80 Gbit/80 Gb/' 'bad.yaml:18:[0-9]+: .*Gbit/s'
broken 's/rate: "80 Gbit.s"/rate: 10/' 'bad.yaml:18:[0-9]+: .*unit|bad.yaml:18:[0-9]+: .*GB/s'
broken 's/fp32: .*/fp32: "-1 TFLOP\/s"}/' 'bad.yaml:16:[0-9]+: '
for value in 0 -5 nan .inf 1.5 1e30 0x10 010 '"8000 rows"' '[]' '{}' '~' "''"; do
  broken "s/rows: 8000/rows: $value/" 'bad.yaml:25:13: .*rows|bad.yaml:25:13: '
done
for value in 0 -64 1e12; do broken "s/dim: 64/dim: $value/" 'bad.yaml:26:12: |bad.yaml:24:7: .*history.*dim'; done
for value in 0 -1 1e18 '"4096 B"' many; do broken "s/batch_per_gpu: 32/batch_per_gpu: $value/" 'bad.yaml:22:18: '; done
for value in 0 -2 1000000000 two; do broken "s/nodes: 2/nodes: $value/" 'bad.yaml:9:10: |bad.yaml:7:3: .*ranks'; done
for value in 0 -4 100000; do broken "s/count: 4/count: $value/" 'bad.yaml:12:12: '; done
for value in 0 -1 1e18 none; do broken "s/iterations: 4/iterations: $value/" 'bad.yaml:5:13: '; done
for value in -1 1.5 99999999999999999999 x; do broken "s/seed: 7/seed: $value/" 'bad.yaml:4:7: '; done
for value in 0 -20 nan 1e300; do broken "s/average_length: 20/average_length: $value/" 'bad.yaml:28:23: |bad.yaml:24:7: .*history.*length'; done

# So few ids that no rank looks up any: nothing is wrong with that.
for length in 1e-9 0.001; do
  sed -E "s/average_length: 20/average_length: $length/" good.yaml >few.yaml
  for planner in row_wise flexshard_3tier table_row_wise; do
    run run few.yaml -o few -q --set planner.name=$planner
    check "length $length with $planner runs: $(cat streams/err)" [ "$code" -eq 0 ]
  done
  rm -rf few few.yaml
done

broken 's/^iterations: 4/steady: 2/' 'bad.yaml:5:9: .*below 1'

echo "-- quotes"
# yaml-cpp takes the end of the file for that of a text.
for quote in '"' "'"; do
  { cat good.yaml; echo "compute_model: {name: roofline}"; } | sed "s/^title: good//; \$s/.*/title: ${quote}good/" >bad.yaml
  file_refused 'bad.yaml:30:8: the quote of a text is not closed'
  { cat good.yaml; echo; } | sed "s/^title: good/title: \&mark ${quote}good/" >bad.yaml
  file_refused 'bad.yaml:[0-9]+:[0-9]+: '
done

echo "-- names"
broken 's/name: row_wise/name: row_wize/' 'bad.yaml:3:17: .*row_wize.*row_wise'
broken 's/name: row_wise/name: magic/' 'bad.yaml:3:17: .*column_wise.*flexshard_3tier.*table_wise'
broken 's/^title.*/compute_model: {name: magic}/' 'bad.yaml:2:23: .*roofline'
broken 's/^title.*/memory_model: {name: magic}/' 'bad.yaml:2:22: .*paper'
broken 's/^title.*/network: {name: magic}/' 'bad.yaml:2:17: .*closed_form.*simgrid'
broken 's/name: row_wise/name: row_wise, cut: paper/' 'bad.yaml:3:[0-9]+: .*cut'
broken 's/family: zipf/family: zipfian/' 'bad.yaml:29:[0-9]+: .*zipfian.*zipf'
broken 's/kind: switch/kind: star/' 'bad.yaml:17:[0-9]+: .*star.*mesh'
printf 'schema: shardsim.scenario/1\ncluster: a100_mush_4x8\nworkload: rm1\nplanner: {name: row_wise}\n' >bad.yaml
file_refused 'bad.yaml:2:10: .*a100_mush_4x8.*a100_mesh_4x8.*toy_2x4'
printf 'schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: rm9\nplanner: {name: row_wise}\n' >bad.yaml
file_refused 'bad.yaml:3:11: .*rm9.*rm1'
printf 'schema: shardsim.cluster/1\nbase: b.yaml\nname: a\n' >a.yaml
printf 'schema: shardsim.cluster/1\nbase: a.yaml\nname: b\n' >b.yaml
refuse 2 '[ab].yaml:2:7: .*(itself|loop|cycle|circle)' check a.yaml

echo "-- clusters"
pairs='nvlink: {kind: mesh, links_per_gpu: 1, per_link: "100 GB\/s", links: [[0, 1, 1], [2, 3, 1]]}'
broken "s/nvlink:.*/$pairs\n  pcie: {p2p: false}/" 'bad.yaml:[0-9]+:[0-9]+: .*[0-3].*[0-3].*connect|bad.yaml:[0-9]+:[0-9]+: .*connect.*[0-3].*[0-3]'
broken '/^  nics/d' 'bad.yaml:[0-9]+:[0-9]+: .*NIC'
broken 's/nics: .*/nics: {per_gpu: 1, shared_by: 2, rate: "80 Gbit\/s"}/' 'bad.yaml:18:[0-9]+: '
broken 's/nics: .*/&\n  faults: [{node: 5, nic: 0, rate_factor: 0.5}]/' 'bad.yaml:19:[0-9]+: .*node 5'
# A link that is slowed by more than a million never ends a transfer.
broken 's/nics: .*/&\n  faults: [{node: 0, nic: 0, rate_factor: 1e-300}]/' 'bad.yaml:19:[0-9]+: .*1e-300'
many=$(printf '{node: 0, nic: 0, rate_factor: 0.5},%.0s' $(seq 30))
broken "s/nics: .*/&\\n  faults: [${many%,}]/" 'bad.yaml:19:[0-9]+: .*less than a millionth'

echo "-- access distributions"
broken 's/family: zipf, s: 1/family: zipf, s: .inf/' 'bad.yaml:29:[0-9]+: '
broken 's/family: zipf, s: 1/family: zipf, s: -400/' 'bad.yaml:29:[0-9]+: '
broken 's/family: zipf, s: 1/family: log_normal, sigma: 1e308/' 'bad.yaml:29:[0-9]+: '
broken 's/family: zipf, s: 1/family: zipf, s: .nan/' 'bad.yaml:29:[0-9]+: '
broken '/average_length/d; s/family: zipf, s: 1/family: piecewise_power_law, knots: [{rank: 1, ln_p: 900}, {rank: 8000, ln_p: 800}]/' 'bad.yaml:28:[0-9]+: '
broken '/average_length/d; s/family: zipf, s: 1/family: piecewise_power_law, knots: [{rank: 10, ln_p: 1}, {rank: 5, ln_p: 0}]/' 'bad.yaml:28:[0-9]+: '
broken 's/family: zipf, s: 1/family: counts, file: absent.h5, table: t/' 'absent.h5'

broken 's/family: zipf, s: 1/family: steps, rows: [1, 2], weights: [5e-324, 5e-324]/' 'bad.yaml:29:[0-9]+: .*too small'

echo "-- files that are no scenario"
: >bad.yaml
file_refused 'bad.yaml(:1:1)?: .*(empty|nothing)'
printf '\n\n# only a comment\n' >bad.yaml
file_refused 'bad.yaml(:[0-9]+:[0-9]+)?: .*(empty|nothing)'
head -c 4096 "$shardsim" >bad.yaml
file_refused 'bad.yaml'
head -c 100000 /dev/urandom >bad.yaml
file_refused 'bad.yaml'
printf '\xff\xfe\x00s\x00c\x00h\x00e\x00m\x00a' >bad.yaml
file_refused 'bad.yaml'
head -c 10000000 /dev/zero | tr '\0' 'a' >bad.yaml
file_refused 'bad.yaml'
head -c 10000000 /dev/zero | tr '\0' '[' >bad.yaml
file_refused 'bad.yaml'
head -c 10000000 < <(yes -- '- a') >bad.yaml
file_refused 'bad.yaml'
head -c 10000000 < <(yes 'a: &a [*a, *a]') >bad.yaml
file_refused 'bad.yaml'
{ cat good.yaml; echo 'cases:'; seq -f '  - {name: c%.0f}' 400000; } >bad.yaml
file_refused 'bad.yaml'
{ printf 'schema: shardsim.scenario/1\ntitle: '; head -c 3000 /dev/zero | tr '\0' '['; } >bad.yaml
file_refused 'bad.yaml:2:[0-9]+: .*nest|bad.yaml:[0-9]+:[0-9]+: .*nest'
{ printf 'schema: shardsim.scenario/1\n'; for i in $(seq 0 200); do printf '%*sa:\n' "$i" ''; done; } >bad.yaml
file_refused 'bad.yaml:[0-9]+:[0-9]+: .*nest'
{ printf 'schema: shardsim.scenario/1\ncluster: '; for i in $(seq 3000); do printf '{a: '; done; } >bad.yaml
file_refused 'bad.yaml:[0-9]+:[0-9]+: '
printf 'schema: shardsim.scenario/1\ncluster: &c {name: x, base: *c}\n' >bad.yaml
file_refused 'bad.yaml:2:[0-9]+: .*(itself|alias|anchor)'
printf 'schema: shardsim.scenario/1\ntitle: *nowhere\n' >bad.yaml
file_refused 'bad.yaml:2:[0-9]+: '
{ echo 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'
  for i in $(seq 9); do echo "a$i: &a$i [*a$((i - 1)), *a$((i - 1)), *a$((i - 1)), *a$((i - 1)), *a$((i - 1)), *a$((i - 1)), *a$((i - 1)), *a$((i - 1))]"; done; } >bad.yaml
file_refused 'bad.yaml:[0-9]+:[0-9]+: .*alias|bad.yaml:1:1: .*schema'
{ cat good.yaml; printf -- '---\nschema: shardsim.scenario/1\n'; } >bad.yaml
file_refused 'bad.yaml:[0-9]+:[0-9]+: .*document'
printf 'schema: shardsim.scenario/1\n\ttitle: tab\n' >bad.yaml
file_refused 'bad.yaml:2:[0-9]+: '
printf '[1, 2]\n' >bad.yaml
file_refused 'bad.yaml:1:1: .*map'
printf '{"schema": "shardsim.plan/1", "plan": {' >bad.yaml
file_refused 'bad.yaml:1(:[0-9]+)?: '
mkdir bad.yaml
file_refused 'bad.yaml: .*(folder|directory)'
refuse 2 'absent.yaml: .*' run absent.yaml
refuse 2 'absent.yaml: .*' check absent.yaml
if [ "$(id -u)" -ne 0 ]; then
  cp good.yaml bad.yaml
  chmod 000 bad.yaml
  file_refused 'bad.yaml: .*[Pp]ermission'
fi

echo "-- plan files"
"$shardsim" plan good.yaml -o rw.json
sed 's/row_wise/flexshard_3tier/' good.yaml >tiers.yaml
"$shardsim" plan tiers.yaml -o tiers.json
rm tiers.yaml
sed 's/^planner:.*/plan: {file: plan.json}/' good.yaml >planned.yaml
for good in rw tiers; do
  cp $good.json plan.json
  run run planned.yaml -o kept
  check "the good plan file $good.json runs: $(cat streams/err)" [ "$code" -eq 0 ]
done
# plan_refused PATTERN FILE PYTHONLIKE...: FILE edited by sed -E over its lines joined to one.
plan_refused() {
  tr -d '\n ' <"$2.json" | sed -E "$3" >plan.json
  if [ "$(tr -d '\n ' <"$2.json")" = "$(cat plan.json)" ]; then fail "nothing changed in the plan by: $3"; fi
  refuse 2 "$1" run planned.yaml
  refuse 2 "$1" lower planned.yaml
}
first_edge=$(tr -d '\n ' <tiers.json | grep -oE '"rows":\[0,[0-9]+\]' | grep -oE '[0-9]+' | tail -1)
plan_refused 'history.*begin at' tiers "s/\"rows\":\[$first_edge,/\"rows\":[$((first_edge + 1)),/"
plan_refused 'history.*begin at' tiers "s/\"rows\":\[$first_edge,/\"rows\":[$((first_edge - 1)),/"
plan_refused 'history|8000|7999' tiers 's/,8000\]/,7999]/'
plan_refused 'history|8001' tiers 's/,8000\]/,8001]/'
plan_refused '(rank|0-8)' tiers 's/"0-7"/"0-8"/'
plan_refused 'rank 3.*twice|twice.*3' tiers 's/"0-7"/[0,1,2,3,4,5,6,3]/'
plan_refused 'data_paralel' tiers 's/"data_parallel"/"data_paralel"/'
plan_refused 'replica|rank' tiers 's/"4-7"/"4-6"/'
plan_refused 'cheese' tiers 's/"order"/"cheese":1,"order"/'
plan_refused 'histori' tiers 's/"history"/"histori"/'
plan_refused 'order|twice|duplicate' tiers 's/"order":"popularity"/"order":"popularity","order":"popularity"/'
plan_refused '(rank|8)' rw 's/"ranks":\[0,1,2,3,4,5,6,7\]/"ranks":[0,1,2,3,4,5,6,8]/'
plan_refused 'rank:99|placement|rank 99' rw 's|rank:7/cuda:3|rank:99/cuda:3|'
plan_refused '.' rw 's/"shard_offsets":\[1000,0\]/"shard_offsets":[999,0]/'
plan_refused '.' rw 's/"shard_offsets":\[1000,0\]/"shard_offsets":[1001,0]/'
plan_refused '.' rw 's/"shard_sizes":\[1000,64\]/"shard_sizes":[1000,32]/'
plan_refused '.' rw 's/"shard_sizes":\[1000,64\]/"shard_sizes":[-1000,64]/'
plan_refused '.' rw 's/"shard_sizes":\[1000,64\]/"shard_sizes":[1e300,64]/'
plan_refused '.' rw 's/row_wise/triangle_wise/'
plan_refused '.' rw 's/shardsim.plan.1/shardsim.plan\/2/'
plan_refused '.' rw 's/\}$//'
plan_refused 'plan.json:1:[0-9]+: .*access_share: "?1e308"? is not a share from 0 to 1' tiers 's/"access_share":[-+.e0-9]+/"access_share":1e308/'
refuse 2 'plan.json:1:[0-9]+: .*access_share: "?1e308"? is not a share' check plan.json
plan_refused "plan.json:1:[0-9]+: table 'history' has more than 3 tiers. Join" tiers 's/\{"rows":\[([0-9]+),8000\]([^{}]*)\}/{"rows":[\1,7999]\2},{"rows":[7999,8000]\2}/'
for asked in 'check planned.yaml' 'check plan.json' 'explain plan.json'; do refuse 2 "plan.json:1:[0-9]+: table 'history' has more than 3 tiers" $asked; done
for bytes in '' '{' 'null' '[]' '{"plan": null}' '{"plan": {}}' '{"plan": {"ec": {"history": 3}}}'; do
  printf '%s' "$bytes" >plan.json
  refuse 2 'plan.json' run planned.yaml
done
head -c 10000000 /dev/zero | tr '\0' '[' >plan.json
refuse 2 'plan.json' run planned.yaml
rm plan.json
refuse 2 'plan.json' run planned.yaml

# A plan alone says how many ranks there are; many of them are no reason to wait.
for rank in 4000 1000000 9007199254740993; do
  printf '{"plan": {"ec": {"t": {"sharding_type": "row_wise", "compute_kernel": "fused", "ranks": [%s], "shards": []}}}}' $rank >far.json
  from=$SECONDS
  refuse 2 'far.json' check far.json
  check "a plan on rank $rank is checked at once" [ $((SECONDS - from)) -le 5 ]
done
rm far.json

echo "-- what does not fit"
sed -E 's/hbm: "16 GiB"/hbm: "2 MiB"/; s/row_wise/table_wise/' good.yaml >big.yaml
refuse 3 'memory: rank 0 .*bytes.* over.*history' run big.yaml
refuse 3 'memory: rank 0 .*bytes.* over.*history' check big.yaml
refuse 3 'memory: rank 0 .*bytes.* over.*history' plan big.yaml -o plan.json
rm big.yaml

echo "-- random plans and cross-checks"
broken 's/^planner:.*/planner: {name: random, sharding_types: [row_wize]}/' 'bad.yaml:3:.*row_wize.*row_wise'
broken '$acases: [{name: a, repeat: 3}]' 'bad.yaml:30:.*repeat.*same plan'
broken '$across_check: {}' 'bad.yaml:30:.*no 3 cases'
broken '$across_check: {worse: 3}' 'bad.yaml:30:.*worse.*worst'
sed -E 's/^planner:.*/planner: {name: random}/; s/rows: 8000/rows: 8000000000/' good.yaml >bad.yaml
refuse 3 "no random plan fits in 100 tries: table 'history'" run bad.yaml
rm bad.yaml

echo "-- jobs"
{
  sed -E '/^planner|^workload/,$d' good.yaml
  sed -n '/^iterations/,/^workload/{/^workload/d;p}' good.yaml
  cat <<'YAML'
jobs:
  - {name: first, workload: toy_history, planner: {name: row_wise}, nodes: [0]}
  - {name: second, workload: toy_history, planner: {name: flex}, nodes: "1", start: "5 us"}
YAML
} >jobs.yaml
first=$(grep -n 'name: first' jobs.yaml | cut -d: -f1)
run run jobs.yaml -o side
check "the good jobs run: $(cat streams/err)" [ "$code" -eq 0 ]
run check jobs.yaml
check "the good jobs pass check: $(cat streams/err)" [ "$code" -eq 0 ]
for command in plan lower; do
  run $command jobs.yaml --case second
  check "$command takes a job as a case: $(cat streams/err)" [ "$code" -eq 0 ]
  refuse 2 'argument --case.*third.*first, second' $command jobs.yaml --case third
done

# broken_jobs SED_EXPRESSION PATTERN: jobs.yaml changed so is refused by `run` and by `check`.
broken_jobs() {
  sed -E "$1" jobs.yaml >bad.yaml
  if cmp -s jobs.yaml bad.yaml; then fail "nothing changed by: $1"; fi
  file_refused "$2"
}
broken_jobs 's/nodes: "1"/nodes: "0-1"/' "bad.yaml:$((first + 1)):.*node 0 already belongs to job .first."
broken_jobs 's/nodes: "1"/nodes: "2"/' "bad.yaml:$((first + 1)):.*node 2 is outside the cluster of 2 nodes"
broken_jobs 's/nodes: \[0\]/nodes: [0, 0]/' "bad.yaml:$first:.*node 0 is named twice"
broken_jobs 's/nodes: \[0\]/nodes: []/' "bad.yaml:$first:.*node set is missing or empty"
broken_jobs 's/, nodes: \[0\]//' "bad.yaml:$first:.*nodes"
broken_jobs 's/name: second/name: first/' "bad.yaml:$((first + 1)):.*two jobs are named .first."
broken_jobs 's/name: second/name: "a b"/' "bad.yaml:$((first + 1)):.*is no name of a job"
broken_jobs 's/start: "5 us"/start: 5/' "bad.yaml:$((first + 1)):.*(unit|us)"
broken_jobs 's/start: "5 us"/start: "-5 us"/' "bad.yaml:$((first + 1)):"
broken_jobs 's/start: "5 us"/start: "1e9 s"/' "bad.yaml:$((first + 1)):"
broken_jobs 's/start: "5 us"/start: "100 s"/' "bad.yaml:$((first + 1)):.*before job .second. starts"
broken_jobs 's/start:/begin:/' "bad.yaml:$((first + 1)):.*begin"
broken_jobs 's/toy_history, planner: \{name: flex/toy_histori, planner: {name: flex/' "bad.yaml:$((first + 1)):.*toy_histori.*toy_history"
broken_jobs 's/planner: \{name: flex\}/plan: {file: none.json}/' 'none.json'
broken_jobs 's/planner: \{name: flex\}, //' "bad.yaml:$((first + 1)):.*no planner"
broken_jobs "$((first - 1))s/.*/workload: toy_history\\njobs:/" ".workload. and .jobs. cannot be used together"
broken_jobs "$((first - 1))s/.*/planner: {name: flex}\\njobs:/" ".planner. and .jobs. cannot be used together"
broken_jobs "$first,\$d" ".jobs. is no list"
broken_jobs "$((first - 1))s/.*/jobs: []/; $first,\$d" "bad.yaml:$((first - 1)):7: .jobs. is empty"
refuse 2 'argument --set planner: .*has jobs.*jobs.NUMBER.planner' run jobs.yaml --set planner=flex
refuse 2 'argument --set jobs.2.start: .*0 to 1' run jobs.yaml --set 'jobs.2.start=1 us'
refuse 2 'argument --set jobs.1.start: ' run jobs.yaml --set jobs.1.start=1

echo "-- arguments"
refuse 2 'argument --set cluster.nodez: .*nodez.*nodes' run good.yaml --set cluster.nodez=3
refuse 2 'argument --set cluster.gpu.hbm: .*GiB' run good.yaml --set cluster.gpu.hbm=3
refuse 2 'argument --set: .*PATH=VALUE' run good.yaml --set cluster.nodes
refuse 2 'argument --set cases.4.*' run good.yaml --set cases.4.planner.name=flex
refuse 2 'argument --set cluster.nodes: .*twice' run good.yaml --set cluster.nodes=3 --set cluster.nodes=4
too_long=$(printf 'x%.0s' {1..400})
refuse 2 'argument --set cluster: cannot find the cluster.*relative to the working folder' run good.yaml --set "cluster=$too_long.yaml"
refuse 1 'too long' plan good.yaml -o "$too_long"
refuse 1 'too long' run good.yaml -o "$too_long"
refuse 2 'argument --seed' run good.yaml --seed -3
refuse 2 'argument --seed' run good.yaml --seed 1.5
refuse 2 'argument (--jobs|-j)' run good.yaml -j 0
refuse 2 'argument (--jobs|-j)' run good.yaml -j many
refuse 2 'argument --trace: .*magic.*main' run good.yaml --trace magic
refuse 2 'argument --memory-model.*magic.*paper' run good.yaml --memory-model magic
refuse 2 'argument --planner.*magic.*row_wise' plan good.yaml --planner magic
refuse 2 'argument --case.*magic.*main' lower good.yaml --case magic
run run good.yaml -o traced -q --trace main --trace all
check "a case and all of them may be traced: $(cat streams/err)" [ -f traced/trace/main/rank7.json ]
rm -r traced
refuse 2 'argument' run
refuse 2 'argument good2.yaml' run good.yaml good2.yaml
refuse 2 'argument.*' list
refuse 2 'argument plannerz: .*planners' list plannerz
refuse 2 'argument --output: .*run writes a folder' run good.yaml -o -
for option in output case planners trace jobs set seed memory-model; do
  refuse 2 "argument --$option: the value is empty" run good.yaml "--$option" ''
  refuse 2 "argument --$option: the value is empty" run good.yaml "--$option="
done
refuse 2 'argument --output: the value is empty' plan good.yaml -o ''
refuse 2 'argument --system: the value is empty' collective compare --measurements "$source/scenarios/measurements/open" --system=
refuse 2 'argument --output: .*is a folder' plan good.yaml -o .
refuse 2 'argument --seed: .*--set seed' run good.yaml --seed 1 --set seed=2
refuse 2 'argument --memory-model: .*--set memory_model' run good.yaml --memory-model paper --set memory_model.name=paper
refuse 2 'argument --planner: .*--set planner.name' plan good.yaml --planner table_wise --set planner.name=row_wise
refuse 2 'argument --objective: .*--set planner.objective' plan good.yaml --objective simulated --set planner.objective=simulated
refuse 2 'argument --objective: the planner row_wise has no objective. Add --planner torchrec' plan good.yaml --planner row_wise --objective simulated
refuse 2 'argument --nodes: .*--set nodes' cluster show toy_2x4 --nodes 3 --set nodes=5
refuse 2 'argument --nodes: .*--set nodes' cluster show toy_2x4 --nodes 3 --set cluster.nodes=5
refuse 2 'argument --set nodes: .*twice' cluster show toy_2x4 --set nodes=3 --set cluster.nodes=5
predict="collective predict --cluster toy_2x4 --kind all_reduce --sizes 1MiB"
# shellcheck disable=SC2086
refuse 2 'argument --fits: .*--set fits' $predict --fits none --set fits=none
for base in base cluster.base base.name; do
  refuse 2 "argument --set base.*'base' cannot be set alone" cluster show toy_2x4 --set "$base=dgx1_v100"
  # shellcheck disable=SC2086
  refuse 2 "argument --set base.*'base' cannot be set alone" $predict --set "$base=dgx1_v100"
done
refuse 2 "argument --set cluster.base.x: .*'base' cannot be set alone" run good.yaml --set cluster.base.x=1
printf 'schema: shardsim.clusters_map/1\nsystems:\n  mine: {cluster: toy_2x4, set: {base: dgx1_v100}}\n' >map.yaml
printf 'system,nodes,gpus_per_node,collective,size_bytes,time_us\nmine,2,4,all_reduce,1024,100\n' >measured.csv
refuse 2 "map.yaml:3:[0-9]+: .*'base' cannot be set alone" collective compare --measurements measured.csv --clusters map.yaml -o none
tr , ';' <measured.csv >semicolons.csv
refuse 2 'semicolons.csv:1: .*by commas' collective compare --measurements semicolons.csv -o none
rm map.yaml measured.csv semicolons.csv
refuse 2 'argument --trace-whole-us: .*--trace' run good.yaml --trace-whole-us
refuse 2 'the name of a file: it is empty' run ''
echo keep >notes.txt
refuse 2 'notes.txt: .*--force' plan good.yaml -o notes.txt

echo "-- values that no machine has"
refuse 2 'cluster.nics.rate: .*outside the range.*1 KB/s' run good.yaml --set cluster.nics.rate='1e-300 B/s'
refuse 2 'outside the range' run good.yaml --set cluster.nics.latency='1e300 s'
refuse 2 'outside the range' run good.yaml --set cluster.gpu.flops.fp32='1 FLOP/s'
refuse 2 'nodes: "200000" is above 100000' run good.yaml --set cluster.nodes=200000
refuse 2 'compute capability 99.9' run good.yaml --set cluster.gpu.compute_capability=99.9
broken 's/^seed: 7/seed: ~/' "bad.yaml:4:.*'seed' has no value"
broken 's/^iterations: 4/collectives: {all_to_all: ring}/' 'bad.yaml:5:.*ring.*direct'

echo "-- published numbers"
published() {
  { cat good.yaml; printf 'cases:\n  - name: main\n    published:\n'; printf '      - {%s}\n' "$@"; } >bad.yaml
}
published 'quantity: iteration, value: "1e305 s", role: predicted, source: x'
file_refused 'bad.yaml:[0-9]+:.*outside the range'
published 'quantity: iteration, value: "1 ms", role: predicted, source: ""'
file_refused 'bad.yaml:[0-9]+:.*source: "" is empty'
published 'quantity: "coverage:row_wise", value: "300 %", role: predicted, source: x'
file_refused 'bad.yaml:[0-9]+:.*300'
published 'quantity: iteration, value: "1 ms", role: predicted, source: x' 'quantity: iteration, value: "2 ms", role: predicted, source: y'
file_refused 'bad.yaml:[0-9]+:.*published twice'
published 'quantity: iteration, value: "1 ms", role: partly_fitted, source: x'
file_refused 'bad.yaml:[0-9]+:.*does not say what of it is fitted'
published 'quantity: iteration, value: "1 ms", role: predicted, fitted_in: [host], source: x'
file_refused 'bad.yaml:[0-9]+:.*numbers that are partly fitted'
published 'quantity: iteration, value: "1 ms", role: partly_fitted, fitted_in: [hosts], source: x'
file_refused 'bad.yaml:[0-9]+:.*"hosts".*host'
published 'quantity: throughput_gain, value: "10 %", role: partly_fitted, fitted_in: [host], source: x'
file_refused 'bad.yaml:[0-9]+:.*cannot be partly fitted'

echo "-- pipes and devices"
check "check reads a pipe once" bash -c "cat good.yaml | timeout $patience '$shardsim' check /dev/stdin"
refuse 2 '/dev/zero.*binary' check /dev/zero
sed 's/^cluster:/cases: [{name: all}]\ncluster:/' good.yaml >bad.yaml
file_refused "bad.yaml:6:.*named 'all'"
cp good.yaml $'a\e[31mb.txt' && echo 'x' >$'a\e[31mb.txt'
refuse 2 'a[?]\[31mb.txt' check $'a\e[31mb.txt'

echo "-- write errors"
mkdir mixed
run run good.yaml -o mixed -q
before_mixed=$(cd mixed && cksum ./*)
check "a refused run leaves the earlier one whole" bash -c "ulimit -f 8; ! '$shardsim' run good.yaml --seed 9 -o mixed -q >/dev/null 2>&1"
check "the earlier run is as it was" [ "$before_mixed" = "$(cd mixed && cksum ./*)" ]
check "nothing hidden is left" [ -z "$(find mixed -name '.writing*')" ]
rm -rf mixed
refuse 1 'notes.txt/x' run good.yaml -o notes.txt/x
refuse 1 'notes.txt' run good.yaml -o notes.txt
full_disk() (
  ulimit -f "$1"
  shift
  code=0
  "$shardsim" "$@" >streams/out 2>streams/err || code=$?
  [ "$code" -eq 1 ] && [ "$(grep -c '' streams/err)" -eq 1 ] && grep -qE '^error: .*full/' streams/err && [ ! -s streams/out ]
)
for kilobytes in 1 8 64 200; do
  rm -rf full
  check "a full disk ($kilobytes KiB) is a write error: $(cat streams/err)" full_disk "$kilobytes" run good.yaml -o full/out
  check "no half file is left on a full disk" [ -z "$(find full -type f ! -name timeline.h5 2>streams/found)" ]
  if [ -e full/out/timeline.h5 ]; then check "timeline.h5 is whole" cmp -s full/out/timeline.h5 whole/timeline.h5; fi
  check "a full disk ($kilobytes KiB) stops traces, too" full_disk "$kilobytes" run good.yaml -o full/out --trace all
  check "no half file is left on a full disk" [ -z "$(find full -type f ! -name timeline.h5 2>streams/found)" ]
done
rm -rf full
check "a plan on a full disk is a write error" full_disk 1 plan good.yaml -o full/plan.json
check "a Program on a full disk is a write error" full_disk 1 lower good.yaml --case main -o full/program.json
check "no half plan or Program is left" [ ! -e full ]
before=$(files)
for kilobytes in 1 2; do
  check "an import on a full disk ($kilobytes KiB) is a write error" full_disk "$kilobytes" import "$source/scenarios/imports/torchrec.json" -o full/deep/model.yaml
  check "and leaves neither its plan nor a folder" [ "$before/no" = "$(files)/$([ -e full ] && echo yes || echo no)" ]
done
if [ "$(id -u)" -ne 0 ]; then
  mkdir closed
  chmod 555 closed
  refuse 1 'closed/' run good.yaml -o closed/out
fi
if [ -e /dev/full ]; then
  for arguments in "list planners" "plan good.yaml" "lower good.yaml --case main" "run good.yaml -o kept" "--help" "check good.yaml"; do
    code=0
    # shellcheck disable=SC2086
    "$shardsim" $arguments >/dev/full 2>streams/err || code=$?
    check "'$arguments' to a full device exits 1, not $code" [ "$code" -eq 1 ]
    check "'$arguments' to a full device says so: $(cat streams/err)" grep -q '^error: .*standard output' streams/err
  done
fi
refuse 2 'argument --set workload.batch_per_gpu.*has a sign' check good.yaml --set workload.batch_per_gpu=-1
refuse 2 'argument --set: the file is a workload, and this changes a scenario' check "$source/scenarios/workloads/toy_history.yaml" --set batch_per_gpu=8
finish 251
