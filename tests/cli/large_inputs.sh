#!/usr/bin/env bash
# Inputs with thousands of axes, tables, features, patterns or edits: read in a time that grows with their size, or refused at
# once with what is too many. Each takes one to six seconds of CPU, by the machine and by what runs beside it; the limit is far
# from that, so that a slow machine keeps it and the square of these sizes does not. Usage: large_inputs.sh SHARDSIM SOURCE_DIR
set -euo pipefail
shardsim=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/cli/lib.sh"
ulimit -t 60

cat >large.py <<'P'
import json, sys

kind, n = sys.argv[1], int(sys.argv[2])
head = "schema: shardsim.scenario/1\ncluster: toy_2x4\n"
row_wise = "planner: {name: row_wise}\n"


def listed(form, numbers=None):
    return ", ".join(form % i for i in (range(n) if numbers is None else numbers))


def tables(form="{name: t%d, rows: 10, dim: 4, kind: pooled}"):
    return "workload: {base: toy_history, tables: [%s]}\n" % listed(form)


def config(name, features):
    return {"name": name, "num_embeddings": 1000, "embedding_dim": 16, "pooling": "SUM", "feature_names": features}


rows = "workload.tables.t%d.rows: [10]"
texts = {
    "axes": lambda: head + tables() + row_wise + "sweep: {axes: {%s}}" % listed(rows),
    "zips": lambda: head + tables() + row_wise + "sweep: {zip: [%s]}" % listed("{" + rows + "}"),
    "conditions": lambda: head + tables() + row_wise + "sweep: {axes: {%s}, where: [%s]}"
    % (listed(rows), listed("workload.tables.t%d.rows > 0")),
    "values": lambda: head + "workload: toy_history\n" + row_wise
    + "sweep: {axes: {workload.batch_per_gpu: [%s]}}" % listed("%d", range(1, n + 1)),
    "set": lambda: head + tables() + row_wise + "cases: [{name: a, set: {%s}}]" % listed("workload.tables.t%d.rows: 11"),
    "names": lambda: head + tables() + "planner: {name: per_table, tables: {%s}}" % listed("t%d: row_wise"),
    "patterns": lambda: head + tables() + "planner: {name: per_table, tables: {%s}}"
    % listed("'*t%d*': row_wise", range(n - 1, -1, -1)),
    "constraints": lambda: head + tables() + "planner: {name: per_table, tables: {%s}}\nconstraints: {%s}"
    % (listed("t%d: row_wise"), listed("t%d: {sharding_types: [row_wise]}")),
    "torchrec": lambda: head + tables() + "planner: {name: torchrec}",
    "copies": lambda: head + "workload: {base: toy_history, tables: [{name: t, rows: 10, dim: 4, kind: pooled, copies: "
    "100000}]}\n" + row_wise + "cases: [%s]" % listed("{name: c%d}"),
    "features": lambda: "name,rows,dim,features\na,100,16," + listed("f%d").replace(",", ""),
    "tables": lambda: "name,rows,dim\n" + listed("t%d;100;16").replace(", ", "\n").replace(";", ","),
    "feature_names": lambda: json.dumps({"tables": [config("a", ["f%d" % i for i in range(n)])]}),
    "factors": lambda: json.dumps({
        "tables": [config("t%d" % i, ["f"]) for i in range(n)],
        "constraints": {"t%d" % i: {"pooling_factors": [2.0]} for i in range(n)}}),
}
print(texts[kind]())
P

# large KIND N COMMAND...: the input of this kind and size is read.
large() {
  local file=$1.${4##*.} kind=$1 size=$2
  shift 2
  python3 large.py "$kind" "$size" >"$file"
  run "$@"
  check "$size of kind $kind: $* ends with 0, not $code: $(tail -n 1 streams/err)" [ "$code" -eq 0 ]
}

echo "-- sweeps and scenarios"
large axes 4000 check axes.yaml
check "all axes are one point: $(cat streams/out)" grep -q 'a sweep of 1 point: ok' streams/out
large zips 4000 check zips.yaml
large conditions 4000 check conditions.yaml
large values 10000 check values.yaml
large set 9900 check set.yaml
large names 8000 check names.yaml
large patterns 5000 check patterns.yaml
# Its advice had been about the tables that are not told apart, which have no name: now and then a crash.
check "every note names its table" [ "$(grep -c "Table ''" streams/err)" -eq 0 ]
large constraints 5000 check constraints.yaml
large torchrec 12000 check torchrec.yaml
python3 large.py copies 100 >copies.yaml
(
  ulimit -v 500000  # none of the tables is made
  "$shardsim" check copies.yaml >streams/out 2>streams/err
) && fail "100 cases of 100,000 tables are allowed"
check "cases times copies are refused before they are made: $(cat streams/err)" \
  grep -qE '^error: copies.yaml:[0-9:]+: the tables, features and knots of the first 23 cases come to 25300000 numbers' streams/err

echo "-- models that are imported"
large features 100000 import features.csv --batch 8 -o features
check "all of them are there" [ "$(grep -o '"f[0-9]*"' features/workload.yaml | wc -l)" -eq 100000 ]
run check features/scenario.yaml
check "and can be read: $(cat streams/err)" [ "$code" -eq 0 ]
large feature_names 200000 import feature_names.json -o feature_names
large factors 50000 import factors.json -o factors
large tables 70000 import tables.csv -o tables
python3 large.py tables 100000 >tables.csv
refuse 2 "^error: tables.csv:[0-9]+:1: with table [0-9]+, 't[0-9]+', a workload file would hold over 1,000,000 values.* Import at most 7[0-9]+ of these tables" \
  import tables.csv -o none

echo "-- draws"
refuse 2 '^error: argument --max-bytes: no [0-9]+ tables within 700 MiB were found in 100,000,000 draws.*--max-tables' \
  workload sample tasks metasyn_856 --tasks 3 --max-bytes "700 MiB" -o tasks.yaml
finish 16
