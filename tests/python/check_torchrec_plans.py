"""Plans of TorchRec's planner, as the command writes them, against those of TorchRec itself (tests/plan/torchrec/
golden.json and golden_2026.json, cases of kind `plan`): the same sharding types, ranks, offsets, sizes and placements.

Usage: check_torchrec_plans.py SHARDSIM SOURCE_DIR
"""

import json
import os
import subprocess
import sys
import tempfile


def rate(bytes_per_ms):
    return '"%r B/s"' % (bytes_per_ms * 1000)


def cluster(topology):
    per_host = topology["local_world_size"]
    return (
        "{schema: shardsim.cluster/1, name: golden, nodes: %d, gpu: {model: any, count: %d, compute_capability: \"8.0\","
        " hbm: \"80 GiB\", hbm_bandwidth: \"1 TB/s\", flops: {fp32: \"10 TFLOP/s\"}},"
        " nvlink: {kind: switch, links_per_gpu: 1, per_link: \"100 GB/s\"}, nics: {per_gpu: 1, rate: \"80 Gbit/s\"}}"
        % (topology["world_size"] // per_host, per_host)
    )


def table(item, constraints):
    factors = constraints.get(item["name"], {}).get("pooling_factors", [1.0])
    text = "name: %s, rows: %d, dim: %d, dtype: %s" % (item["name"], item["rows"], item["dim"], item["dtype"])
    if item["pooled"]:
        pairs = enumerate(factors)
        features = ", ".join("{name: %s_f%d, pooling_factor: %r}" % (item["name"], *pair) for pair in pairs)
        return "{%s, kind: pooled, features: [%s]}" % (text, features)
    features = ", ".join("%s_f%d" % (item["name"], i) for i in range(len(factors)))
    return "{%s, kind: sequence, average_length: %r, features: [%s]}" % (text, sum(factors), features)


# Of the two kinds that state bytes, and of those that state a share.
def reservation(case):
    given = case["storage_reservation"]
    size = lambda name, count: '%s: "%d B"' % (name, count)
    if given["type"] == "fixed_absolute":
        return "{type: fixed_absolute, %s}" % size("hbm_reserved", given["hbm_reserved_gb"] * 2**30)
    if given["type"] == "sku_aware":
        base = given.get("model_base_bytes")
        part = size("margin", given["margin_bytes"]) if base is None else size("model_base", base)
        return "{type: sku_aware, %s, %s}" % (part, size("runtime_overhead", given.get("runtime_overhead_bytes", 0)))
    dense = 6 * case["dense_parameter_bytes"]
    return "{percentage: %r%s}" % (given["percentage"], ", " + size("dense_tensor_estimate", dense) if dense else "")


# What version 2026-08 alone knows of the machine.
def newest(topology):
    if "ssd_cap_per_rank" not in topology:
        return ""
    pod = "" if topology["pod_size"] is None else ", pod_size: %d" % topology["pod_size"]
    return ', ssd_cap: "%d B", ssd_mem_bw: %s%s' % (
        topology["ssd_cap_per_rank"],
        rate(topology["ssd_mem_bw"]),
        pod,
    )


def planner(case, version):
    topology, constraints = case["topology"], case["constraints"] or {}
    everyone = {}
    if case["sharder_sharding_types"] != "default":
        everyone["sharding_types"] = case["sharder_sharding_types"]
    if case["sharder_compute_kernels"] != "default":
        everyone["compute_kernels"] = case["sharder_compute_kernels"] + ["dense"]
    allowed = {"*": everyone}
    for name, given in constraints.items():
        keys = ("sharding_types", "compute_kernels", "min_partition", "cache_load_factor")
        allowed[name] = dict(everyone, **{key: given[key] for key in keys if key in given})
        if "kv_max_l1_cache_size_mb" in given:
            allowed[name]["max_l1_cache_size"] = "%d MiB" % given["kv_max_l1_cache_size_mb"]
    partitioner = case["partitioner"]
    return (
        "{name: torchrec, version: \"%s\", proposers: %s, partitioner: %s, constraints: %s,"
        " storage_reservation: %s, topology: {hbm_cap: \"%d B\", ddr_cap: \"%d B\", hbm_bandwidth: %s,"
        " hbm_to_ddr_bandwidth: %s, intra_bandwidth: %s, inter_bandwidth: %s%s}}"
        % (
            version,
            json.dumps(case["proposers"]),
            "memory_balanced" if partitioner == "memory_balanced" else "greedy_perf, sort_by: %s" % partitioner.split("_")[-1],
            json.dumps(allowed),
            reservation(case),
            topology["hbm_cap_per_rank"],
            topology["ddr_cap_per_rank"],
            rate(topology["hbm_mem_bw"]),
            rate(topology["hbm_to_ddr_mem_bw"]),
            rate(topology["intra_host_bw"]),
            rate(topology["inter_host_bw"]),
            newest(topology),
        )
    )


def scenario(case, version):
    pipelines = {"none": "none", "train_sparse_dist": "sparse_dist", "train_prefetch_sparse_dist": "prefetch_sparse_dist"}
    optimizers = {"rowwise_adagrad": "rowwise_adagrad", "none": "sgd"}
    tables = "".join("    - %s\n" % table(item, case["constraints"] or {}) for item in case["tables"])
    return (
        "schema: shardsim.scenario/1\ncluster: %s\nmemory_model: {name: torchrec}\nplanner: %s\nworkload:\n"
        "  schema: shardsim.workload/1\n  name: golden\n  batch_per_gpu: %d\n  optimizer: {name: %s}\n  pipeline: %s\n"
        "  tables:\n%s"
        % (
            cluster(case["topology"]),
            planner(case, version),
            case["batch_size"],
            optimizers[case["optimizer"]],
            pipelines[case["pipeline_type"]],
            tables,
        )
    )


# A sequence that is cut by rows inside a group: TorchRec's own sharders do not offer that, and neither do we.
def beyond_sharders(case):
    constraints = case["constraints"] or {}
    types = lambda item: constraints.get(item["name"], {}).get("sharding_types", [])
    return any(not item["pooled"] and set(types(item)) & {"table_row_wise", "grid_shard"} for item in case["tables"])


def is_good(run, expect):
    if "error" in expect:
        return run.returncode == (2 if expect["error_type"] == "invalid_compute_kernel" else 3)
    wanted = expect["serialized_plan"]
    return run.returncode == 0 and json.loads(run.stdout)["plan"] == wanted.get("plan", wanted)


def check(shardsim, path, version):
    cases = [case for case in json.load(open(path))["cases"] if case["kind"] == "plan"]
    cases = [case for case in cases if not beyond_sharders(case["input"])]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            path = os.path.join(folder, case["id"] + ".yaml")
            with open(path, "w") as file:
                file.write(scenario(case["input"], version))
            run = subprocess.run([shardsim, "plan", path], capture_output=True, text=True)
            if not is_good(run, case["expect"]):
                print(case["id"], "differs; exit", run.returncode, run.stderr.strip())
                failed += 1
    print("%s: %d plans, %d differ" % (version, len(cases), failed))
    return failed == 0 and len(cases) > 0


def main():
    shardsim, source = (os.path.abspath(path) for path in sys.argv[1:3])
    golden = os.path.join(source, "tests/plan/torchrec/%s.json")
    good = [check(shardsim, golden % "golden", "2025-10"), check(shardsim, golden % "golden_2026", "2026-08")]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
