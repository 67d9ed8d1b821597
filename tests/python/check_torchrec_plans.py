"""Plans of TorchRec's planner, as the command writes them, against those of TorchRec itself (tests/plan/torchrec/
golden.json, cases of kind `plan`): the same sharding types, ranks, offsets, sizes and placements.

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
        features = ", ".join("{name: f%d, pooling_factor: %r}" % pair for pair in enumerate(factors))
        return "{%s, kind: pooled, features: [%s]}" % (text, features)
    features = ", ".join("f%d" % i for i in range(len(factors)))
    return "{%s, kind: sequence, average_length: %r, features: [%s]}" % (text, sum(factors), features)


def planner(case):
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
    dense = 6 * case["dense_parameter_bytes"]
    partitioner = case["partitioner"]
    return (
        "{name: torchrec, proposers: %s, partitioner: %s, constraints: %s,"
        " storage_reservation: {percentage: %r%s}, topology: {hbm_cap: \"%d B\", ddr_cap: \"%d B\", hbm_bandwidth: %s,"
        " hbm_to_ddr_bandwidth: %s, intra_bandwidth: %s, inter_bandwidth: %s}}"
        % (
            json.dumps(case["proposers"]),
            "memory_balanced" if partitioner == "memory_balanced" else "greedy_perf, sort_by: %s" % partitioner.split("_")[-1],
            json.dumps(allowed),
            case["storage_reservation"]["percentage"],
            ", dense_tensor_estimate: \"%d B\"" % dense if dense else "",
            topology["hbm_cap_per_rank"],
            topology["ddr_cap_per_rank"],
            rate(topology["hbm_mem_bw"]),
            rate(topology["hbm_to_ddr_mem_bw"]),
            rate(topology["intra_host_bw"]),
            rate(topology["inter_host_bw"]),
        )
    )


def scenario(case):
    pipelines = {"none": "none", "train_sparse_dist": "sparse_dist", "train_prefetch_sparse_dist": "prefetch_sparse_dist"}
    optimizers = {"rowwise_adagrad": "rowwise_adagrad", "none": "sgd"}
    tables = "".join("    - %s\n" % table(item, case["constraints"] or {}) for item in case["tables"])
    return (
        "schema: shardsim.scenario/1\ncluster: %s\nmemory_model: {name: torchrec}\nplanner: %s\nworkload:\n"
        "  schema: shardsim.workload/1\n  name: golden\n  batch_per_gpu: %d\n  optimizer: {name: %s}\n  pipeline: %s\n"
        "  tables:\n%s"
        % (
            cluster(case["topology"]),
            planner(case),
            case["batch_size"],
            optimizers[case["optimizer"]],
            pipelines[case["pipeline_type"]],
            tables,
        )
    )


def main():
    shardsim, source = (os.path.abspath(path) for path in sys.argv[1:3])
    golden = json.load(open(os.path.join(source, "tests/plan/torchrec/golden.json")))
    cases = [case for case in golden["cases"] if case["kind"] == "plan"]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            path = os.path.join(folder, case["id"] + ".yaml")
            with open(path, "w") as file:
                file.write(scenario(case["input"]))
            run = subprocess.run([shardsim, "plan", path], capture_output=True, text=True)
            if "error" in case["expect"]:
                good = run.returncode == 3
            else:
                good = run.returncode == 0 and json.loads(run.stdout)["plan"] == case["expect"]["serialized_plan"]["plan"]
            if not good:
                print(case["id"], "differs; exit", run.returncode, run.stderr.strip())
            failed += not good
    print("%d plans, %d differ" % (len(cases), failed))
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
