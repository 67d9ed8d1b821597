"""The JSON Schemas of `shardsim schema` take every shipped file, and refuse it once a key is misspelled or a value is of
another kind, or a wrong one of its own kind. The program refuses all data that they refuse; data that they take, it does not
refuse for one value alone. Usage: check_schemas.py SHARDSIM SOURCE_DIR"""

import pathlib
import random
import sys
import tempfile

import jsonschema
import yaml

sys.dont_write_bytecode = True  # the source tree stays as it is

from schema_files import KINDS, Validator, changed, files_of_options, is_beneath_free_value, is_free, schema_of, schema_text, \
    shipped_files, spots
from value_mutations import Program, mutations_of, reason_beyond

shardsim, source = sys.argv[1], pathlib.Path(sys.argv[2])

# TorchRec writes no `schema`, and keys of its own that are not known beside those that are needed: a plan without these
# keys is another good plan.
LEFT_ALONE = {("plan", "schema"), ("plan", "compute_kernel")}

# Where the schema takes what the reader refuses: readers of plans look at these without saying as what.
LENIENT = {("plan", "*", "*", "sharding_type"), ("plan", "*", "*", "tiers", "*", "ranks"),
           ("plan", "*", "*", "tiers", "*", "replica_groups", "*")}


failures = checks = 0


def check(what, good):
    global failures, checks
    checks += 1
    if not good:
        failures += 1
        print("FAILED:", what)


def misspell(holder, key):
    items = list(holder.items())
    holder.clear()
    holder.update((name + "_z" if name == key else name, value) for name, value in items)


def wrong_kinds(value):
    """Values of another kind than this one, which no key takes instead of it."""
    if isinstance(value, dict):
        return [[["z"]]]
    if isinstance(value, list):
        return [{"z": {}}]
    return [[["z"]], {"z": {}}]


schemas = {kind: schema_of(shardsim, kind) for kind in KINDS}
check("a schema is the same each time", schema_text(shardsim, "cluster") == schema_text(shardsim, "cluster"))



def unrestricted(schema, path=()):
    """Keys of which a schema says nothing, so that it admits whatever stands there."""
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    if not isinstance(schema, dict):
        return
    if path[-2:-1] == ("properties",) and not set(schema) - {"description"} and path[-3] != "sourced_value":
        yield "/".join(map(str, path))
    for key, inside in schema.items():
        yield from unrestricted(inside, path + (key,))


# Readers that look at a key only where it is given need a specimen with it (scenarios/specimens/schemas.yaml).
for kind, schema in schemas.items():
    check(f"a {kind} is restricted at {list(unrestricted(schema))}", not list(unrestricted(schema)))

print("-- shipped files")
files = shipped_files(source)
options = files_of_options(source)
for kind, path, data in files + options:
    Validator.keep(data)
    error = jsonschema.exceptions.best_match(schemas[kind].iter_errors(data))
    where = "" if error is None else f"{list(error.absolute_path)}: {error.message[:300]}"
    check(f"{path.relative_to(source)} is a {kind}: {where}", error is None)
print(len(files), "files")


def check_kinds(program):
    """Misspelled keys and values of another kind."""
    every = 20  # of the mutations are shown to the program, too
    seen = set()
    tried = 0
    for kind, path, data in files:
        for way, place, value in spots(kind, data):
            spot = (kind, place, type(value).__name__)
            if spot in seen or is_beneath_free_value(place):
                continue
            seen.add(spot)
            mutations = [] if is_free(kind, place) or (kind, place[-1]) in LEFT_ALONE else [("misspelled", changed(data, way, misspell))]
            for wrong in [] if kind == "plan" and place in LENIENT else wrong_kinds(value):
                other = changed(data, way, lambda holder, key: holder.__setitem__(key, wrong))
                mutations.append((f"is {wrong}", other))
            for what, mutated in mutations:
                tried += 1
                where = f"{path.name}: {'.'.join(place)} {what}"
                check(where, not schemas[kind].is_valid(mutated))
                # Nobody reads a cluster at the top level that every case replaces.
                if tried % every == 0 and place[0] != "cluster":
                    check(f"{where}: the program takes it", program.refusal(path, mutated) is not None)
    print(tried, "mutations of keys and kinds")


def check_values(program):
    """Wrong words, numbers, units and truth values: what the schema takes and the program refuses for it alone."""
    drawn = 250  # of each kind of file
    for kind in ("cluster", "scenario", "workload"):
        mutations = list(mutations_of(kind, files + options))
        for number, mutation in enumerate(random.Random(1).sample(mutations, drawn)):
            data = mutation.data(mutation.wrong)
            if schemas[kind].is_valid(data):
                said = program.refusal(mutation.path, data)
                good = said is None or reason_beyond(mutation, said) is not None
                check(f"{mutation}: taken by the schema, and the program says: {said}", good)
            elif number % 4 == 0:
                check(f"{mutation}: marked by the schema, and the program takes it",
                      program.refusal(mutation.path, data) is not None)
        print(drawn, "of", len(mutations), "mutations of values of a", kind)


SCENARIO = """{schema: shardsim.scenario/1, cluster: toy_2x4, workload: toy_history, planner: {name: row_wise},
  cases: [{name: a, published: [{quantity: iteration, value: 5 ms, role: predicted, source: x}]}]}"""
CLUSTER = """{schema: shardsim.cluster/1, name: c, nodes: 4, gpu: {model: toy, count: 4, compute_capability: "8.0",
  hbm: 16 GiB, hbm_bandwidth: 1000 GB/s, flops: {fp32: 10 TFLOP/s}}, host: {memory: 1 TiB},
  nvlink: {kind: switch, links_per_gpu: 1, per_link: 100 GB/s}, nics: {per_gpu: 1, rate: 80 Gbit/s}}"""
WORKLOAD = """{schema: shardsim.workload/1, name: w, batch_per_gpu: 32, dense: {parameters_bytes: 1 KiB},
  tables: [{name: t, rows: 100, dim: 8, kind: pooled, pooling_factor: 1}]}"""

# A place of such a file, and values there that neither the schema nor the program takes.
REFUSED = [
    (WORKLOAD, "tables.0.copies", [0, 100001, "100001", 1.5, "1.5"]),
    (SCENARIO, "seed", [1.5, -1, "1.01"]),
    (WORKLOAD, "dense.parameters_bytes", ["1.5 B", "1.0005 KB", "1.1 GiB", "-1 B"]),
    (CLUSTER, "nvlink.domain", [145, 0]),
    (CLUSTER, "gpu.compute_capability", ["8.x", "8.", 21, -1, "many", "1e0", True]),
    (CLUSTER, "gpu.hbm", ["1.5 B", "0 B", "0.5 B", "1e7 TiB", "8388608 TiB"]),
    (CLUSTER, "gpu.l2", ["1.5 B"]),
    (CLUSTER, "host.memory", ["1.5 B"]),
    (CLUSTER, "gpu.reserved", ["1", "100 %", "1e0", "1.5 B"]),
    (CLUSTER, "gpu.overlap_slowdown", ["1", "1.0", "100 %", "1e0", "1e3", 1]),
    (CLUSTER, "gpu.flops_efficiency", ["1e3", "2e0", "0", "1e-9", "0.0000001", "101 %", "1e3 %", "1e-7 %"]),
    (CLUSTER, "gpu.flops", [None, {}]),
    (CLUSTER, "nics.rate", ["1e7 TB/s", "1000001 TB/s", "0.5 B/s"]),
    (SCENARIO, "steady", ["1e0", "1", 1, 0, "0"]),
    (SCENARIO, "load", [{"batches": "drawn", "iterations": "1"}, {"batches": "drawn", "iterations": 1}]),
    (SCENARIO, "software", [{"name": "torchrec_eager", "attention_share": "1e3"}]),
    (SCENARIO, "drift", [{"days": 2, "rotation": "1e3"}, {"days": 2, "growth": "1e3"}, {"days": 2, "batch": "1e3"}, None]),
    (SCENARIO, "constraints", [None, {"*": {"compute_kernels": ["fused_uvm_caching"], "cache_load_factor": "1e3"}}]),
    (SCENARIO, "planner.name", [{}, "no_planner"]),
    (SCENARIO, "compute_model", [{"name": {}}, None]),
    (SCENARIO, "network", [{"name": {}}, None]),
    (SCENARIO, "cluster", [None, {}]),
    (SCENARIO, "workload", [None, {}]),
    (SCENARIO, "sweep", [None, {}, {"axes": {}}, {"axes": {"cluster.nodes": [1]}, "where": "many nodes"},
                         {"axes": {"cluster.nodes": [1]}, "where": ["cluster.nodes >"]}]),
    (SCENARIO, "cross_check", [None]),
    (SCENARIO, "cases.0.set", [None]),
    (SCENARIO, "cases.0.name", ["a//b", "..", "a/.", "/a", "a/", "A", "a" * 129, "/".join("a" * 17)]),
    (SCENARIO, "cases.0.published.0.value", ["0 s", 0, "0 %", "-0 %", "0.0 ms"]),
]

# And values that both take.
TAKEN = [
    (WORKLOAD, "tables.0.copies", ["2", 3, 2.0, "2.0"]),
    (SCENARIO, "seed", [1.0, "1e3", "7.00"]),
    (WORKLOAD, "dense.parameters_bytes", ["1.0 B", "1.5 KB", "1.25 KiB", "1.125 GiB", "1e3 B", "15e2 B"]),
    (CLUSTER, "nvlink.domain", [8, "16"]),
    (CLUSTER, "gpu.compute_capability", [8, 8.0, "8", "9.0", 10.3]),
    (CLUSTER, "gpu.hbm", ["1 TiB", "0.5 GiB"]),
    (CLUSTER, "gpu.reserved", ["10 %", 0.25, "1e-1", "1 GiB", "0"]),
    (CLUSTER, "gpu.overlap_slowdown", ["0.99", "99.9 %", "0", "0e0"]),
    (CLUSTER, "gpu.flops_efficiency", ["1", "100 %", "1e0", "1e-6", "1e-4 %", "0.000001", 1]),
    (CLUSTER, "gpu.flops", ["10 TFLOP/s", {"fp32": "1e9 KFLOP/s"}]),
    (CLUSTER, "nics.rate", ["1 TB/s", "1e9 B/s"]),
    (SCENARIO, "steady", ["1e-6", 0.5, "0.9"]),
    (SCENARIO, "load", [{"batches": "drawn", "iterations": "2"}]),
    (SCENARIO, "drift", [{"days": 2, "rotation": "1e-3"}, {"days": 2, "growth": "100 %/day"}]),
    (SCENARIO, "sweep", [{"axes": {"cluster.nodes": [1, 2]}, "where": where} for where in (
        "cluster.nodes > 1", "(cluster.nodes*2 + 1)/3 <= 65536", "planner.name == row_wise",
        "cluster.nics.rate >= 10 Gbit/s", "planner.name != 'x y'")]),
    (SCENARIO, "constraints", [{}, {"*": {}}]),
    (SCENARIO, "cases.0.name", ["a/b", "...", "a.b", 8, "/".join("a" * 16), "a" * 128]),
    (SCENARIO, "cases.0.published.0.value", ["1 ns"]),
]


def with_value(text, place, value):
    data = yaml.safe_load(text)
    *way, last = [int(step) if step.isdigit() else step for step in place.split(".")]
    return changed(data, way + [last], lambda holder, key: holder.__setitem__(key, value))


def check_single_values(program):
    for values, good in ((REFUSED, False), (TAKEN, True)):
        for text, place, tried in values:
            kind = yaml.safe_load(text)["schema"].removeprefix("shardsim.").split("/")[0]
            for value in tried:
                data = with_value(text, place, value)
                said = program.refusal(source / "scenarios" / f"{kind}s" / "single.json", data)
                check(f"{kind}: {place} is {value!r}: taken by the schema: {not good}", schemas[kind].is_valid(data) == good)
                check(f"{kind}: {place} is {value!r}: the program says {said}", (said is None) == good)


with tempfile.TemporaryDirectory() as folder:
    shown = Program(shardsim, source, folder)
    print("-- mutations")
    check_kinds(shown)
    check_values(shown)
    check_single_values(shown)

print(f"{checks} checks, {failures} failed")
sys.exit(1 if failures else 0)
