#!/usr/bin/env python3
"""No key of a cluster, a workload or a software is read and silently changes nothing.

The schemas say which keys there are. Every one is given another value, in cases that have a use for most of them; where
a key takes words, one of them at least has to do something. Then the result changes, or the value is refused, or a note
names the key; what is left stands below with its reason, and a key of the schemas that stands nowhere is a fault.
Each is tried first in the case with even rows, which is simulated in less than half of the time, and where nothing tells
there that it was read, in the case as it is.
Usage: silent_keys.py SHARDSIM SOURCE_DIR
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

SHARDSIM = pathlib.Path(sys.argv[1]).resolve()

SCENARIO = """
schema: shardsim.scenario/1
cluster: {base: dgx_h100, nodes: 2, host: {memory: "1 TiB"}}
workload:
  schema: shardsim.workload/1
  name: w
  batch_per_gpu: 2048
  optimizer: {name: rowwise_adagrad}
  pipeline: sparse_dist
  dense:
    precision: bf16
    interaction: {kind: dcn, layers: 2, rank: 64}
    layers: [{name: bottom, in: 13, out: 512}, {name: top, in: 1024, out: 1024}]
  tables:
    - {name: a, rows: 1000000, dim: 64, kind: pooled, pooling_factor: 10, access: {family: zipf, s: 1}}
    - {name: b, rows: 2000000, dim: 64, kind: sequence, average_length: 20, access: {family: zipf, s: 1}}
    - {name: c, rows: 3000, dim: 64, kind: pooled, pooling_factor: 2}
    - {name: d, rows: 3000000, dim: 64, kind: pooled, pooling_factor: 4}
    - {name: e, rows: 3000000, dim: 64, kind: pooled, pooling_factor: 4}
planner: {name: torchrec}
constraints:
  a: {sharding_types: [row_wise]}
  b: {sharding_types: [row_wise]}
  c: {sharding_types: [data_parallel]}
  d: {sharding_types: [table_wise], compute_kernels: [fused_uvm]}
  e: {sharding_types: [table_row_wise]}
memory_model: {name: torchrec}
"""

CASES = {
    "kernels": ["compute_model.name=gpu_kernels"],
    "roofline": ["compute_model.name=roofline"],
    "compiled": ["compute_model.name=gpu_kernels", "software=torchrec_compiled"],
    "eager": ["compute_model.name=roofline", "software=torchrec_eager"],
}

CLUSTER = {
    "gpu.hbm": "40 GiB", "gpu.reserved": "1 GiB", "gpu.hbm_bandwidth": "1000 GB/s", "gpu.copy_bandwidth": "1000 GB/s",
    "gpu.l2": "5 MiB", "gpu.l2_bandwidth": "9000 GB/s", "gpu.sm_count": "40", "gpu.flops.bf16": "100 TFLOP/s",
    "gpu.flops_efficiency": "0.1", "gpu.kernel_overhead": "40 us", "gpu.launch_overhead": "90 us",
    "gpu.lookups_per_ns": "0.1", "gpu.sort_per_lookup": "9 ns", "gpu.sorted_update_kernels": "400",
    "gpu.sorted_update_efficiency": "0.01", "gpu.overlap_slowdown": "0.5", "gpu.stream_sharing": "0.9",
    "gpu.count": "4", "host.memory": "2 GiB", "host.memory_bandwidth": "10 GB/s", "host.gpu_link_bandwidth": "1 GB/s",
    "host.ssd.read_bandwidth": "1 GB/s", "host.ssd.write_bandwidth": "1 GB/s", "host.ssd.iops": "1000", "host.ssd.capacity": "1 GB",
    "host.time_factor": "5", "pcie.generation": "3", "pcie.lanes": "4", "pcie.latency": "90 us",
    "pcie.cpu.sockets": "1", "pcie.cpu.link": "5 GB/s", "pcie.host_copy_efficiency": "0.3", "nics.rate": "100 Gbit/s", "nics.hardware_rate": "300 Gbit/s", "nics.latency": "200 us",
    "nics.per_gpu": "2", "nics.shared_by": "2", "nics.per_node": "4", "nvlink.links_per_gpu": "6",
    "nvlink.per_link": "2 GB/s", "nvlink.per_link_effective": "2 GB/s", "nvlink.latency": "200 us",
    "nvlink.domain": "16", "nvlink.nvb_efficiency": "0.3", "fabric.nodes_per_leaf": "1",
    "fabric.oversubscription": "8", "fabric.latency": "200 us", "p2p.channel_rate": "0.2 GB/s",
    "p2p.channels_per_peer": "1", "overheads.launch_overhead": "3 ms", "cost_per_gpu_hour": "2", "nodes": "3",
}
OVERHEADS = {"start": "5 ms", "per_remote_peer": "900 us", "efficiency": "0.01", "fill": "5 ms", "latency_share": "3",
             "nic_efficiency": "0.01", "nic_rate": "1 GB/s"}
for kind in ("all_gather", "all_reduce", "all_to_all", "reduce_scatter"):
    for key, value in OVERHEADS.items():
        CLUSTER[f"overheads.{kind}.across_nodes.{key}"] = value
CLUSTER["overheads.all_reduce.across_nodes.nvls_fill"] = "5 ms"
WORKLOAD = {
    "batch_per_gpu": "1024", "id_bytes": "4", "dense.interaction.layers": "5", "dense.interaction.rank": "900",
    "tables.a.rows": "4000000", "tables.a.dim": "128", "tables.a.pooling_factor": "40", "tables.a.access.s": "0.5",
    "tables.b.average_length": "50", "tables.d.copies": "2", "dense.layers.top.in": "2048", "dense.layers.top.out": "4096",
    "dense.layers.top.repeat": "9", "dense.layers.top.elementwise": "900000", "dense.parameters_bytes": "4 GiB",
    "dense.layers.top.residual": "true", "dense.layers.top.norm": "layer_norm", "dense.layers.top.pool": "mean",
    "dense.concatenations": "3", "accumulate": "4", "tables.a.sharded": "false",
}
SOFTWARE = {
    "launch": "2 ms", "send_receive": "2 ms", "launch_in_start": "1 us", "graph_launch": "90 ms", "graph_node": "9 ms",
    "operator_forward": "9 ms", "operator_backward": "9 ms", "module_dist": "90 ms", "module_call": "90 ms",
    "module_output": "90 ms", "module_backward": "90 ms", "per_feature": "9 ms", "per_table": "90 ms",
    "per_sample": "300 us", "fixed": "400 ms", "optimizer_sgd": "90 ms", "optimizer_adagrad": "90 ms",
    "optimizer_adam": "90 ms", "kernel_fixed": "2 ms", "in_situ": "0.01", "update_factor": "90", "attention_share": "0.1",
    "stream_sharing": "9",
}

# What of a result is compared.
COMPARED = ("iteration_ms", "memory", "estimate", "samples_per_s", "interval")

# Of the case with even rows, no placement of its hot rows is drawn.
EVEN = "load.row_shares=even"

# Where the entries of lists are in the case above.
PLACES = {"tables.*": "tables.a", "dense.layers.*": "dense.layers.top"}

# Keys that this case has no use for, by what it would need. They are read: no note could say that they do nothing.
EXPECTED = {
    "cluster.cost_per_gpu_hour": "a price: no time depends on it",
    "cluster.pcie.cpu.sockets": "no traffic crosses sockets: NVLink and NICs on the GPUs' switches carry all",
    "cluster.pcie.cpu.link": "the same",
    "cluster.pcie.host_copy_efficiency": "no pair copies through host memory: NVLink joins all GPUs of a node",
    "cluster.fabric.nodes_per_leaf": "the fabric is not oversubscribed",
    "cluster.overheads.reduce_scatter.across_nodes": "partial sums are added within nodes and by all ranks",
    "cluster.overheads.all_gather.across_nodes": "the same",
    "software.launch_in_start": "no all_to_all stays within a node",
    "software.attention_share": "no layer is attention",
    "software.stream_sharing": "nothing computes beside something else",
    "cluster.gpu.stream_sharing": "the same",
    "workload.tables.a.pooling": "a mean divides in the kernel that reads the rows, whose bytes are the same",
    "workload.dense.layers.top.residual": "the exchange of gradients hides what it adds: tests/sim/lower/dense_work_test.cpp",
    "workload.dense.input_gradient": "the bottom layer reads 13 columns: the exchange of gradients hides what it adds",
}

# Keys of the schemas that are given no value here, with all that is below them, by what they are or who tries them.
NOT_TRIED = {
    "workload.schema": "says which format it is",
    "software.operator_times": "only software by PyTorch has them: tests/cli/pytorch_software.sh",
    "workload.base": "another workload",
    "workload.tables_from": "other tables",
    "workload.name": "a name",
    "workload.summary": "words for readers",
    "workload.modules": "names of modules, which is first, and whether each exchanges for itself: "
                        "tests/models/workload/module_notes_test.cpp, tests/sim/lower/fusion_group_test.cpp",
    "workload.sample_factor": "needs batches that are drawn: tests/models/load/batch_draws_test.cpp",
    "workload.tables.*.name": "a name",
    "workload.tables.*.module": "its path in plan files: tests/cli/import_plans.sh",
    "workload.tables.*.access": "of each law: tests/models/access/families",
    "workload.tables.*.features": "what several ids of a table are: tests/models/workload/table_reader_test.cpp",
    "workload.tables.*.length_distribution": "of each law: tests/models/load/length_law_test.cpp",
    "workload.tables.*.runtime": "needs an observed payload: tests/models/workload/table_reader_test.cpp",
    "workload.sharding_groups": "needs a plan for the ranks of a group: tests/physics/sharding_groups_test.cpp",
    "workload.wire_dtype.quantize_dim": "needs fp8 or int8 on the wire: tests/physics/quantised_exchanges_test.cpp",
    "workload.wire_dtype.quantize_dim_backward": "the same",
    "workload.wire_dtype.mx4_group": "needs mx4 on the wire: tests/physics/quantised_exchanges_test.cpp",
    "workload.fused_lookup": "needs another pipeline: tests/physics/torchrec_pipelines_test.cpp",
    "workload.stages": "the same",
    "workload.tables.*.batch": "every feature of a module has one: tests/physics/own_batches_test.cpp",
    "workload.stash": "needs tables to stash and a layer to return at: tests/physics/stashing_test.cpp",
    "workload.dense.measured": "takes the place of layers: tests/models/workload/dense_reader_test.cpp",
    "workload.dense.trace": "needs a trace: tests/cli/import_trace.sh",
    "software.dense_kernels": "which software's kernels the dense part is: tests/cli/pytorch_software.sh",
    "software.input_copies": "the same",
    "software.launch_in_update": "the same",
    "software.optimizer_per_tensor": "the same",
    "workload.dense.layers.*.name": "a name",
    "workload.dense.layers.*.tables": "which tables an attention reads: tests/models/workload/dense_reader_test.cpp",
    "workload.dense.layers.*.kind": "the same",
    "workload.dense.layers.*.heads": "the same",
    "workload.dense.layers.*.head_dim": "the same",
    "workload.dense.layers.*.length": "the same",
    "workload.dense.layers.*.causal": "the same",
}

# Numeric keys of the schemas that are given no value here.
UNTRIED = {"before", "gpu.flops", "faults", "graph", "held_out", "holds_for", "nvb_holds_for"}


def text_of(base, values):
    """The scenario with a case for each value, in lines of their own behind the first two: as it is, at both ends, and with it."""
    lines = [f"  - {{name: {name}, set: {{{', '.join(part.replace('=', ': ', 1) for part in settings)}}}}}"
             for name, settings in [("usual", base), *[(f"c{i}", [*base, value]) for i, value in enumerate(values)], ("again", base)]]
    return "\n".join([*SCENARIO.strip().split("\n"), "cases:", *lines]) + "\n"


def refused_by(errors, values):
    """The value at whose line the scenario is refused; None where the message names another place."""
    first = len(SCENARIO.strip().split("\n")) + 3
    line = re.search(r"case\.yaml:(\d+):", errors)
    return values[int(line[1]) - first] if line and 0 <= int(line[1]) - first < len(values) else None


def command(folder, base, values, *arguments):
    (folder / "case.yaml").write_text(text_of(base, values))
    return subprocess.run([SHARDSIM, *arguments], cwd=folder, capture_output=True, text=True)


def without_refused(folder, base, values):
    """The values that reading refuses none of. `check` reads alone, so that to look for them takes no simulation."""
    done = command(folder, base, values, "check", "case.yaml")
    if done.returncode == 0:
        return values
    if len(values) <= 1:
        return []
    bad = refused_by(done.stderr, values)
    if bad:
        return without_refused(folder, base, [value for value in values if value != bad])
    half = len(values) // 2
    return without_refused(folder, base, values[:half]) + without_refused(folder, base, values[half:])


def run(folder, base, values):
    """By each value that is not refused: whether the result is another one than without it, and its notes.

    All are cases of one run, which reads what they share once: a run of each takes three times as long."""
    done = command(folder, base, values, "run", "case.yaml", "-q", "-j", "2", "--force", "-o", "out")
    if done.returncode == 0:
        cases = json.loads((folder / "out" / "result.json").read_text())["cases"]
        results = [{key: case.get(key) for key in COMPARED} for case in cases]
        if len(cases) != len(values) + 2 or results[0] != results[-1]:
            sys.exit("a case has another result behind others, so that each of them would count as changed: "
                     f"{results[0]}, {results[-1]}")
        return {value: (result != results[0], case["notes"]) for value, result, case in zip(values, results[1:], cases[1:])}
    if not values:
        sys.exit(f"the case {' '.join(base)} cannot be run: {done.stderr}")
    if len(values) == 1:
        return {}
    bad = refused_by(done.stderr, values)
    if bad:
        return run(folder, base, [value for value in values if value != bad])
    half = len(values) // 2
    return run(folder, base, values[:half]) | run(folder, base, values[half:])


def tells(value, changed, notes):
    """Whether the result or a note says that the value was read."""
    path = value.split("=", 1)[0]
    key = path.split(".", 1)[1]
    return changed or any(key in note or path in note for note in notes) or path.split(".")[-1] in " ".join(notes)


def silent(folder, base, values):
    """The values of which nothing tells that they were read, or that they do nothing, and which are not expected to be such."""
    left = values
    for settings in ([*base, EVEN], base):
        run(folder, settings, [])  # it is the values that are refused, not the case
        told = run(folder, settings, without_refused(folder, settings, left))
        left = [value for value in left if value in told and not tells(value, *told[value])]
    return [value for value in left if not below(value.split("=", 1)[0], EXPECTED)]


def schema_of(kind):
    printed = subprocess.run([SHARDSIM, "schema", kind], capture_output=True, text=True, check=True).stdout
    return json.loads(printed)["$defs"]


def plain(definitions, node):
    """The form of a value as it is written without a source."""
    while "$ref" in node or "anyOf" in node:
        node = definitions[node["$ref"].split("/")[-1]] if "$ref" in node else node["anyOf"][0]
    return node


def keys_of(definitions, node, path=()):
    """Every key below, with its form: "tables.*.rows" is a key of every entry of a list."""
    node = plain(definitions, node)
    if node.get("type") == "array" and "properties" in plain(definitions, node["items"]):
        yield from keys_of(definitions, node["items"], (*path, "*"))
    elif "properties" in node:
        for key, value in node["properties"].items():
            yield from keys_of(definitions, value, (*path, key))
    else:
        yield ".".join(path), node


def placed(path):
    for entry, place in PLACES.items():
        if path.startswith(entry + "."):
            return place + path[len(entry):]
    return path


def numeric_keys(schema, definition):
    """The keys of a map of the schema whose values are numbers or have units."""
    numbers = ("count", "time", "rate", "size", "number", "share", "efficiency", "nic_efficiency")
    names = []
    for key, value in schema[definition]["properties"].items():
        form = value.get("$ref", "").split("/")[-1].removesuffix("_or_sourced").rstrip("_0123456789")
        if form in numbers:
            names.append(key)
    return names


def below(path, paths):
    return any(path == each or path.startswith(each + ".") for each in paths)


def words_and_missing(of, definitions, definition, tried):
    """The words of every key that takes words, and the keys that are given no value."""
    words_of, missing = {}, []
    for path, form in keys_of(definitions, definitions[definition]):
        if below(f"{of}.{path}", NOT_TRIED):
            continue
        words = [word for word in form.get("enum", []) if isinstance(word, str)]
        if words:
            words_of[f"{of}.{placed(path)}"] = words
        elif path not in {re.sub(r"(tables|layers)\.[^.]*\.", r"\1.*.", key) for key in tried}:
            missing.append(f"{of}.{path}")
    return words_of, missing


def untested_of_clusters():
    """Keys of the schema of clusters that no table above has."""
    schema = schema_of("cluster")
    missing = []
    for part in ("gpu", "host", "nics", "nvlink", "pcie", "fabric", "p2p"):
        if part in schema:
            missing += [f"cluster.{part}.{key}" for key in numeric_keys(schema, part)
                        if f"{part}.{key}" not in CLUSTER and key not in UNTRIED]
    return missing


def numbers_of(base):
    keys = {f"cluster.{key}": value for key, value in CLUSTER.items()}
    keys |= {f"workload.{key}": value for key, value in WORKLOAD.items()}
    if any(setting.startswith("software") for setting in base):
        keys |= {f"software.{key}": value for key, value in SOFTWARE.items()}
    return [f"{path}={value}" for path, value in keys.items()]


def faults_of(folder, case, base, words_of):
    numbers = numbers_of(base)
    spoken = [f"{path}={word}" for path, words in words_of.items() for word in words]
    found = silent(folder, base, list(dict.fromkeys(numbers + spoken)))
    faults = [f"{case}: {value} changes nothing, and no note says so" for value in found if value in numbers]
    for path, words in words_of.items():
        if all(f"{path}={word}" in found for word in words):
            faults.append(f"{case}: {path} may be {', '.join(words)}: none changes anything, and no note says so")
    return faults


def main():
    of_workload, missing = words_and_missing("workload", schema_of("workload"), "workload", WORKLOAD)
    of_software, more = words_and_missing("software", schema_of("scenario"), "software", SOFTWARE)
    faults = [f"{key} is not tried" for key in [*untested_of_clusters(), *missing, *more]]
    words = {"kernels": of_workload, "eager": of_software}
    with tempfile.TemporaryDirectory() as name:
        for case, base in CASES.items():
            faults += faults_of(pathlib.Path(name), case, base, words.get(case, {}))
    print("\n".join(faults) or "every key changes the result, is refused, or has a note")
    sys.exit(bool(faults))


main()
