#!/usr/bin/env python3
"""Prints the tables of docs/pytorch_steps.md on the host's factor: for each machine and each of its eager steps that wait for the host, the
host.time_factor at which pytorch_eager predicts that step, and by how much all other eager steps of the machine are then off. Last comes
what no prediction of the host can better: the steps of one machine predicted by those that were measured on the other one, times a factor from one of them.
Usage: pytorch_host_factor.py SHARDSIM SOURCE_DIR"""

import json
import pathlib
import statistics
import subprocess
import sys

shardsim, source = sys.argv[1], pathlib.Path(sys.argv[2])
folder = source / "scenarios/measurements/pytorch"
steps = [step for step in json.loads((folder / "fbgemm_steps.json").read_text())["steps"] if not step["graph"]]
# The GPU waits for the host for a fifth of the step or more.
HOST_BOUND = 0.8


def name_of(step):
    return "%s/%d" % (step["model"], step["batch"])


def waits_for_host(step):
    return step["gpu_busy_us"] <= HOST_BOUND * 1000 * step["ms"]


def predicted(gpu, factor):
    """{(case, precision): ms} with that factor."""
    times = {}
    for precision in ("tf32", "bf16"):
        done = subprocess.run([shardsim, "run", folder / "fbgemm_models.yaml", "-q", "--json", "--set", "software=pytorch_eager",
                               "--set", "cluster={base: dgx_%s, nodes: 1, gpu: {count: 1}, host: {time_factor: %.6f}}" % (gpu, factor),
                               "--set", "workload.dense.precision=" + precision], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        for case in json.loads(done.stdout)["cases"]:
            times[case["name"], precision] = case["iteration_ms"]
    return times


def factor_for(gpu, step):
    """At which the step is predicted: the host's part is in proportion to it."""
    key = name_of(step), step["precision"]
    low, high = at_one[gpu][key], at_two[gpu][key]
    return 1 + (step["ms"] - low) / (high - low) if high > low else None


def errors_at(gpu, factor):
    times = predicted(gpu, factor)
    return {(name_of(step), step["precision"]): 100 * (times[name_of(step), step["precision"]] / step["ms"] - 1)
            for step in steps if step["gpu"] == gpu}


at_one = {gpu: predicted(gpu, 1) for gpu in ("h100", "h200")}
at_two = {gpu: predicted(gpu, 2) for gpu in ("h100", "h200")}
print("| machine | step that sets the factor | host.time_factor | other steps | median error % | largest error % | which |")
print("|---|---|---|---|---|---|---|")
first = {}
for gpu in ("h100", "h200"):
    for step in steps:
        if step["gpu"] != gpu or not waits_for_host(step):
            continue
        factor = factor_for(gpu, step)
        key = name_of(step), step["precision"]
        off = errors_at(gpu, factor)
        first.setdefault(gpu, (key, factor, off))
        rest = {other: error for other, error in off.items() if other != key}
        worst = max(rest, key=lambda other: abs(rest[other]))
        print("| %s | %s %s | %.3f | %d | %.1f | %+.1f | %s %s |" %
              (gpu.upper(), *key, factor, len(rest), statistics.median(abs(error) for error in rest.values()), rest[worst], *worst))
print()
print("| step | precision | H100 ms | error % | H200 ms | error % |")
print("|---|---|---|---|---|---|")
measured = {(step["gpu"], name_of(step), step["precision"]): step["ms"] for step in steps}
for step in steps:
    if step["gpu"] != "h100":
        continue
    key = name_of(step), step["precision"]
    print("| %s | %s | %.3f | %+.1f | %.3f | %+.1f |" %
          (*key, measured[("h100", *key)], first["h100"][2][key], measured[("h200", *key)], first["h200"][2][key]))


def largest_errors(gpu, other):
    """{step that sets the factor: largest error % of the others} where the times of the other machine predict those of this one."""
    both = [{(name_of(step), step["precision"]) for step in steps if step["gpu"] == each and waits_for_host(step)} for each in (gpu, other)]
    ratios = {key: measured[(gpu, *key)] / measured[(other, *key)] for key in both[0] & both[1]}
    return {key: max((100 * (ratios[key] / ratios[judged] - 1) for judged in ratios if judged != key), key=abs) for key in ratios}


print()
print("| machine | predicted by the times of | steps | largest error %, by the best choice of a step | by the worst |")
print("|---|---|---|---|---|")
for gpu, other in (("h100", "h200"), ("h200", "h100")):
    errors = sorted(largest_errors(gpu, other).values(), key=abs)
    print("| %s | %s | %d | %+.1f | %+.1f |" % (gpu.upper(), other.upper(), len(errors), errors[0], errors[-1]))
