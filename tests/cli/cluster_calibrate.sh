#!/usr/bin/env bash
# shardsim cluster calibrate, end to end: a file that is a cluster, says what was fitted and predicts its own rows; the
# calibrated comparison of the published timings; one clear line for what cannot be calibrated.
# Usage: cluster_calibrate.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
open=$source/scenarios/measurements/open

echo "-- what the fit to the open data says of a shipped cluster"
run cluster show dgx_a100_80gb
check "the constants of the fit are shown, with what they were fitted on" \
  grep -qE '^  overheads.all_reduce.across_nodes.efficiency = 0\.[0-9]+, FITTED \(Sophia, ' streams/out
check "and nothing says that none was" bash -c '! grep -q "Nothing here was fitted" streams/out'
run cluster show toy_2x4
check "a cluster without fits says so" grep -q 'Nothing here was fitted to measurements' streams/out

echo "-- a published system"
mesh=(cluster calibrate --cluster dgx1_v100 --measurements "$open/v100_hybrid_cube_mesh.csv")
run "${mesh[@]}" -o my_mesh.yaml
check "it is calibrated: $(cat streams/err)" [ "$code" -eq 0 ]
check "all rows are used" grep -qE '^all_reduce in a node: all 18 rows fitted, each judged by a fit that left it out' streams/out
check "and judged where they are left out" grep -qE '^ +left out, from 1 MiB +8 +[0-9.]+ +[0-9.]+' streams/out
check "nothing is smaller than what was measured" bash -c '! grep -q "Smaller than all" streams/out'
/usr/bin/python3 - "$open/v100_hybrid_cube_mesh.csv" >large.csv <<'PY'
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
size = rows[0].index("size_bytes")
csv.writer(sys.stdout).writerows([rows[0]] + [row for row in rows[1:] if int(row[size]) >= 1 << 20])
PY
run cluster calibrate --cluster dgx1_v100 --measurements large.csv -o large.yaml
check "what is smaller than all that was measured is said: $(cat streams/out streams/err)" \
  grep -q 'Smaller than all that was measured: all_reduce in a node below 1 MiB. Such calls mix what was fitted with' <(tr '\n' ' ' <streams/out)
time_of() { "$shardsim" collective predict --cluster large.yaml --nodes 1 --kind all_reduce --sizes "$1" --json | jq '.results[0].time_us'; }
check "no time jumps where the measured sizes end: $(time_of '1048572 B'), $(time_of '1 MiB') us" \
  bash -c "awk -v a=$(time_of '1048572 B') -v b=$(time_of '1 MiB') 'BEGIN { exit !(a > .99 * b && a < 1.01 * b) }'"
for key in 'fitted: true' 'rows_used: 18' 'error_unused_pct: [0-9.]+' 'fitted_on: \["all_reduce 1x8 1 KiB"' 'held_out:' 'below_64kib: 0\.[0-9]+'; do
  check "the file says $key" grep -qE -- "$key" my_mesh.yaml
done
check "it has the file's name" grep -qx 'name: my_mesh' my_mesh.yaml
run check my_mesh.yaml
check "the file is a cluster: $(cat streams/err)" [ "$code" -eq 0 ]
cp my_mesh.yaml first.yaml
run "${mesh[@]}" -o my_mesh.yaml
check "the same again" cmp -s first.yaml my_mesh.yaml
run "${mesh[@]}" -o -
check "-o - writes the file" grep -qx 'schema: shardsim.cluster/1' streams/out
check "and the tables elsewhere" grep -q 'rows fitted' streams/err
run "${mesh[@]}" --rows 8 -o my_mesh.yaml
check "fewer rows on request" grep -q '^all_reduce in a node: 8 of 18 rows fitted (1x8 1 KiB, ' streams/out

echo "-- times in another unit"
python3 - "$open/v100_hybrid_cube_mesh.csv" <<'P'
import csv, sys

rows = list(csv.DictReader(open(sys.argv[1])))
times = [name for name in rows[0] if name.endswith("_us")]
for row in rows:
    for name in times:
        if row[name]:
            row[name] = float(row[name]) / 1000
    row["algbw_GB_per_s"] = row["busbw_GB_per_s"] = ""
with open("in_ms.csv", "w", newline="") as file:
    table = csv.DictWriter(file, rows[0])
    table.writeheader()
    table.writerows(rows)
P
refuse 2 'in_ms.csv: times are too short by more than a factor of four, at in_ms.csv:[0-9]+: .*Check the units' \
  cluster calibrate --cluster dgx1_v100 --measurements in_ms.csv -o in_ms.yaml
check "and no file is written" [ ! -e in_ms.yaml ]
refuse 2 'in_ms.csv: times are too short by more than a factor of four' \
  cluster calibrate --cluster dgx1_v100 --measurements in_ms.csv -o in_ms.yaml --force
check "nor by force" [ ! -e in_ms.yaml ]

echo "-- a log of other GPUs"
log=$source/tests/cli/net_files/h100_2x8_gcp_a3_mega_all_reduce.txt
refuse 2 'all_reduce.txt: the log is of NVIDIA H100 80GB HBM3, the cluster has A100-SXM4-80GB.*Name a cluster of these GPUs' \
  cluster calibrate --cluster dgx_a100_80gb --nodes 2 --measurements "$log" -o other.yaml
check "no file is written for them" [ ! -e other.yaml ]

echo "-- one row that was measured while something else ran"
/usr/bin/python3 - "$open/v100_hybrid_cube_mesh.csv" >slip.csv <<'P'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
for row in rows:
    if row["size_bytes"] == str(16 << 20):
        row.update(time_us=8 * float(row["time_us"]), algbw_GB_per_s="", busbw_GB_per_s="")
table = csv.DictWriter(sys.stdout, rows[0])
table.writeheader()
table.writerows(rows)
P
run cluster calibrate --cluster dgx1_v100 --measurements slip.csv -o slip.yaml
check "it is named, with what to do: $(cat streams/err)" \
  grep -qE 'worse than the cluster does as it is: .*Remove slip.csv:16 \(all_reduce 1x8 16 MiB, 8 times the time that .*: without this row the fit is taken' streams/err
check "the exit code is 2, not $code" [ "$code" -eq 2 ]
check "and no file is written" [ ! -e slip.yaml ]

echo "-- nccl-tests on one node and on two"
# rows NODES SYSTEM FILE: all_reduce in steps of four from 1 KiB to 1 GiB, the first run of each.
measured() {
  awk -F, -v nodes="$1" -v system_name="$2" '$1 ~ system_name && /,all_reduce,/ && !seen[$0] {
    for (i = 1; i <= NF; ++i) if ($i == "all_reduce") break
    for (size = 1024; size <= 1073741824; size *= 4)
      if ($(i + 2) == size && !known[size]++) printf "mine,%d,8,all_reduce,%d,%s\n", nodes, size, $(i + 4) }' "$open/$3"
}
{
  echo 'system,nodes,gpus_per_node,collective,size_bytes,time_us'
  measured 1 Azure superbench_a100_1node.csv
  measured 2 Sophia alcf_sophia_dgxa100.csv
} >mine.csv
check "22 rows" [ "$(wc -l <mine.csv)" -eq 23 ]
# Constants of all_reduce that leave a calibration something to find in a node, and nothing across nodes.
cat >prior.yaml <<EOF
schema: shardsim.cluster/1
base: dgx_a100_80gb
name: prior
overheads: {all_reduce: {in_node: {fill: 0 us}, across_nodes: {efficiency: 0.952, plateau: false}}}
EOF
run cluster calibrate --cluster prior.yaml --measurements mine.csv -o mine.yaml
check "each reach by itself, with all of its rows" [ "$(grep -c ': all 11 rows fitted' streams/out)" -eq 2 ]
check "what is worse is not taken" grep -q '^all_reduce across nodes: .*; not taken' streams/out
check "and said" grep -qE '^warning: fits that predict .* worse .*: all_reduce across nodes below 1 MiB [0-9.]+ instead of [0-9.]+ %' streams/err
check "what is taken is no worse" awk '/in a node/ { on = 1 } /across nodes/ { on = 0 }
  on && /left out/ && $NF { worse += $(NF - 2) > $(NF - 3) + 1 } END { exit worse }' streams/out
predicted() { "$shardsim" collective predict --cluster "$1" --nodes 2 --kind all_reduce --sizes 1KiB:1GiB:x4 | awk '$1 ~ /^[0-9]+$/ { print $1, $6 }'; }
check "the constants across nodes are those of before" [ "$(predicted mine.yaml)" = "$(predicted prior.yaml)" ]
run cluster calibrate --cluster prior.yaml --measurements mine.csv -o forced.yaml --force
check "by force they are not" [ "$(predicted forced.yaml)" != "$(predicted prior.yaml)" ]
check "with a warning" grep -q '^warning: --force takes fits that predict rows left out worse' streams/err
grep -E '^system|^mine,2' mine.csv >two.csv
refuse 2 'two.csv: the fit predicts rows that it left out worse than the cluster does as it is: all_reduce across nodes .*--force' cluster calibrate --cluster prior.yaml --measurements two.csv -o two.yaml
check "nothing is written then" [ ! -e two.yaml ]

echo "-- intervals of a calibrated cluster"
sed 's/,all_reduce,/,all_gather,/' mine.csv >exchange.csv  # times of another collective: errors of their own
run cluster calibrate --cluster dgx_a100_80gb --measurements exchange.csv -o exchange.yaml --force
cat >study.yaml <<EOF
schema: shardsim.scenario/1
workload: nv_medium
planner: {name: hugectr}
cases: [{name: before, cluster: {base: dgx_a100_80gb, nodes: 2}}, {name: after, cluster: {base: exchange.yaml, nodes: 2}}]
EOF
run run study.yaml -q -o out --json
check "are those of what it left out: $(cat streams/err)" grep -q 'and for all_gather of what the calibration of .exchange. left out' streams/out
cat >nodes.yaml <<EOF
schema: shardsim.scenario/1
cluster: {base: exchange.yaml, nodes: 2}
workload: nv_medium
planner: {name: hugectr}
sweep: {axes: {cluster.nodes: [2, 4]}}
EOF
run sweep nodes.yaml -q -o nodes
note=$(tr -s '\n ' ' ' <streams/out)
check "a sweep says at which points they are extrapolated: $note" grep -q "1 of 2 points: The overheads of all_gather across nodes of 'exchange' are fitted for groups of 16 ranks, and all nodes together are 32: such groups take what was fitted for the nearest size, extrapolated, with wider intervals" <<<"$note"
for command in plan why; do
  run "$command" nodes.yaml --set cluster.nodes=4
  check "$command, too: $(cat streams/err)" grep -q '^note: The overheads of all_gather across nodes .* extrapolated' streams/err
done
run run nodes.yaml -q -o four --set cluster.nodes=4
check "run names the operations" bash -c "tr -s '\n ' ' ' <streams/out | grep -q 'The fitted overheads of all_gather were measured on other groups or larger sizes than'"
run collective predict --cluster exchange.yaml --nodes 4 --kind all_gather --sizes "1 MiB"
check "collective predict has a note: $(cat streams/out streams/err)" grep -q 'fitted for 16' streams/out
run cluster calibrate --cluster dgx_h100 --measurements "$source/scenarios/measurements/one_gpu/h100/grid.csv" -o my_gpu.yaml
printf '%s\n' 'schema: shardsim.scenario/1' 'workload: nv_medium' 'planner: {name: hugectr}' 'compute_model: {name: roofline}' \
  'cluster: {base: my_gpu.yaml, nodes: 1}' >study.yaml
run run study.yaml -q -o out --json --force
check "and so are those of a calibrated GPU: $(cat streams/err)" grep -qE 'for lookup, product, update of what the calibration of .my_gpu. left out' streams/out
run import "$source/scenarios/imports/tables.csv" --cluster my_gpu.yaml -o imported
check "an import keeps the compute model of a calibrated GPU: $(cat streams/err)" bash -c '[ -f imported/scenario.yaml ] && ! grep -q compute_model imported/scenario.yaml'
rm -rf my_gpu.yaml imported
rm -rf out study.yaml mine.yaml forced.yaml exchange.yaml two.csv mine.csv exchange.csv

echo "-- its own prediction comes back"
printf 'system,nodes,gpus_per_node,collective,size_bytes,time_us\n' >own.csv
run collective predict --cluster first.yaml --nodes 1 --kind all_reduce --sizes 4KiB:1GiB:x4
awk '$1 ~ /^[0-9]+$/ {print "own,1,8,all_reduce," $1 "," $6}' streams/out >>own.csv
run cluster calibrate --cluster first.yaml --measurements own.csv -o own.yaml
check "nothing to fit: $(grep 'left out, from' streams/out)" awk '/left out, from/ {found = $(NF - 2) < 0.5} END {exit !found}' streams/out

echo "-- the published timings"
run collective compare --calibrated --measurements "$open" -o out
check "calibrated comparison: $(cat streams/err)" [ "$code" -eq 0 ]
check "it names what it used" grep -q 'were used' streams/out
check "no row out of the model" grep -q '"out_of_model_rows": 0' out/comparison.json
check "the table says rows fitted" grep -qE '^\| ALCF Sophia \(DGX A100\) \| all_reduce \| 4 \|' out/accuracy.md
rm -rf out my_mesh.yaml own.yaml

echo "-- bad input"
# refused PATTERN ARGUMENT...: of m.csv.
refused() { refuse 2 "$1" cluster calibrate --cluster dgx1_v100 --measurements m.csv -o new.yaml "${@:2}"; }
rows() { printf 'system,nodes,gpus_per_node,collective,size_bytes,time_us\n%b' "$1" >m.csv; }
rows 'box,1,8,all_reduce,1024,50\n'
refused 'm.csv: the file has only one row with both a size and a time'
refuse 2 'argument --output: "m.csv" is the file that is read' cluster calibrate --cluster dgx1_v100 --measurements m.csv -o m.csv --force
rows ''
refused 'm.csv: the file holds no measured row'
rows 'box,1,8,all_reduce,1024,50\ncrate,1,8,all_reduce,1024,50\n'
refused 'm.csv: the file holds 2 systems. Name one with --system: box, crate'
refused 'argument --system: no row is of system "bax". Did you mean' --system bax
rows 'box,1,16,all_reduce,1024,50\nbox,1,8,all_reduce,1024,50\n'
refused 'm.csv:2: 16 GPUs per node'
rows 'box,1,8,all_reduce,1024,50\nbox,1,8,all_reduce,2048,51\n'
refused 'argument --kind: no row is of "broadcast"' --kind broadcast
embedding=$source/scenarios/measurements/kernels/embedding.csv
refuse 2 'argument --kind: the option is of measured collectives' cluster calibrate --cluster dgx1_v100 --measurements "$embedding" --kind broadcast -o new.yaml
sed '2s/,5\.014,/,5e-324,/' "$embedding" >kernels.csv
check "the first time is another one" bash -c "! cmp -s '$embedding' kernels.csv"
sed -i 's/,tbe_fwd (no shmem),/,tbe_fwd,/' kernels.csv
refuse 2 'kernels.csv:2: time_us is "5e-324". Give a number from 1e-06 to 1e\+12' cluster calibrate --cluster dgx1_v100 --measurements kernels.csv -o new.yaml
rows "$(for i in {1..200}; do printf 'box,12500,8,all_to_all,%s,50\\n' $((1024 * i)); done)"
refused 'm.csv:7: with this row 600000 ranks are to be predicted, in all rows. At most 500000 are, in one go'
rows 'box,1,8,all_reduce,1024,50\nbox,1,8,all_reduce,2048,soon\n'
refused 'm.csv:3: column time_us'
refused 'argument --rows: "1" is not a whole number from 2 to 1,000' --rows 1
refuse 2 'argument --output: the option is missing.*--output NEW.yaml' cluster calibrate --cluster dgx1_v100 --measurements m.csv
refuse 2 'argument --cluster: the option is missing.*shardsim list clusters' cluster calibrate --measurements m.csv -o new.yaml
refuse 2 'argument --measurements: the option is missing.*--measurements PATH' cluster calibrate --cluster dgx1_v100 -o new.yaml
rows 'box,1,8,all_reduce,1024,50\nbox,1,8,all_reduce,2048,51\n'
refuse 2 'dgx1_v10' cluster calibrate --cluster dgx1_v10 --measurements m.csv -o new.yaml
echo notes >notes.yaml
refuse 2 'notes.yaml: the file exists, and .shardsim cluster calibrate. is not known to have written it' cluster calibrate --cluster dgx1_v100 --measurements m.csv -o notes.yaml
refuse 2 'argument calibrat.*calibrate' cluster calibrat
finish 59
