#!/usr/bin/env python3
"""Prints the tables of docs/import.md: the step of each trace beside that of the scenario that `shardsim import` makes of it, steps of a third batch
predicted from traces of two others, and lookups and updates simulated beside the traced ones.
Usage: trace_tables.py SHARDSIM SOURCE_DIR"""

import bisect
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

shardsim, source = sys.argv[1], pathlib.Path(sys.argv[2])
ours = source / "scenarios/measurements/pytorch/h100/traces"
others = source / "scenarios/measurements/traces"
# Of 128 GPUs whose kind the trace does not say.
ARGUMENTS = {"sampled_rank0": ["--cluster", "dgx_a100_80gb"]}
# Models of which three batches were traced.
FAMILIES = {"dcn64_tf32": (1024, 4096, 16384, 65536), "dot128_tf32": (4096, 16384, 65536), "dot64_fp32": (1024, 4096, 16384, 65536),
            "seq100_tf32": (256, 1024, 4096, 16384)}


def traced_step_ms(path):
    """The step by this program alone: the host's own, to the start of the next one, where the GPU is not behind at both of its ends by more than 2 %;
    else from the end of the GPU's work for one step to that for the next. Of those within 1.3 times the median, the median."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    steps = sorted((e["ts"], e["dur"]) for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation")
    begins = [step[0] for step in steps]
    launched = {e["args"]["correlation"]: e["ts"] for e in events if "correlation" in e.get("args", {})
                and ("Launch" in e["name"] or e["name"].startswith("cudaMem"))}
    ends = {}
    for event in events:
        if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset") and event["args"].get("correlation") in launched:
            step = bisect.bisect(begins, launched[event["args"]["correlation"]]) - 1
            if step >= 0:
                ends[step] = max(ends.get(step, 0), event["ts"] + event["dur"])
    behind = [ends[i] - sum(steps[i]) > 0.02 * steps[i][1] for i in range(len(steps))]
    lengths = []
    for i, (start, length) in enumerate(steps):
        if not behind[i] and (i == 0 or not behind[i - 1]):
            lengths.append((steps[i + 1][0] if i + 1 < len(steps) else start + length) - start)
        elif i > 0:
            lengths.append(ends[i] - ends[i - 1])
    lengths.sort()
    median = lengths[(len(lengths) - 1) // 2]
    kept = [each for each in lengths if median / 1.3 <= each <= 1.3 * median]
    return kept[(len(kept) - 1) // 2] / 1000


def command(*words):
    done = subprocess.run([shardsim, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("shardsim %s: %s" % (" ".join(map(str, words)), done.stderr))
    return done.stdout


def result_of(folder, traces, *options):
    scenario = pathlib.Path(folder) / "scenario.yaml"
    command("import", *traces, *options, "-o", scenario, "--force")
    return json.loads(command("run", scenario, "-q", "--json"))["cases"][0]


def error(predicted, measured):
    return 100 * (predicted / measured - 1)


def own_steps(folder):
    print("| trace | traced step ms | imported and run ms | error % | lookups ms | dense part ms | updates ms | exchanges ms | waiting for the host % |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in sorted(others.glob("*.gz")) + sorted(ours.glob("*.gz")):
        name = path.name.removesuffix(".json.gz")
        traced = traced_step_ms(path)
        run = result_of(folder, [path], *ARGUMENTS.get(name, []))
        why = json.loads(command("why", "--trace", path, "--json"))
        parts = {part["part"]: part for part in why["parts"]}
        kernels = lambda *names: sum(parts[each]["kernels_ms"] for each in names if each in parts)
        print("| %s | %.3f | %.3f | %+.1f | %.3f | %.3f | %.3f | %.3f | %.0f |" %
              (name, traced, run["iteration_ms"], error(run["iteration_ms"], traced), kernels("lookup"),
               kernels("dense_forward", "dense_backward, optimizer"), kernels("update"), sum(part["exchanges_ms"] for part in parts.values()),
               100 * sum(part["waiting_ms"] for part in parts.values()) / why["step_ms"]))


def third_batches(folder):
    print("| model | traced batches | batch | traced step ms | predicted ms | error % |")
    print("|---|---|---|---|---|---|")
    errors = []
    for family, batches in FAMILIES.items():
        paths = {batch: ours / f"{family}_b{batch}.json.gz" for batch in batches}
        for asked in batches:
            rest = [batch for batch in batches if batch != asked]
            # The two nearest by their ratio.
            pair = sorted(sorted(rest, key=lambda batch: max(batch, asked) / min(batch, asked))[:2])
            run = result_of(folder, [paths[batch] for batch in pair], "--batch", asked)
            traced = traced_step_ms(paths[asked])
            errors.append(abs(error(run["iteration_ms"], traced)))
            print("| %s | %d, %d | %d | %.3f | %.3f | %+.1f |" %
                  (family, *pair, asked, traced, run["iteration_ms"], error(run["iteration_ms"], traced)))
    errors.sort()
    print("\nSize of the errors: %.0f %% at the median, %.0f %% at most." % ((errors[(len(errors) - 1) // 2] + errors[len(errors) // 2]) / 2, errors[-1]))


def simulated_tables(folder):
    print("| trace | tables of | part | traced ms | simulated ms | error % |")
    print("|---|---|---|---|---|---|")
    path = others / "torchrec_a100_pg509.json.gz"
    why = json.loads(command("why", "--trace", path, "--json"))
    parts = {part["part"]: part for part in why["parts"]}
    for of in ("rank", "world"):
        run = result_of(folder, [path], "--tables-of-trace", of)
        times = {}
        for time in run["compute"]:
            times[time["class"]] = times.get(time["class"], 0) + time["total_ms"]
        rows = [("lookups", parts["lookup"]["kernels_ms"], times["lookup"]), ("updates", parts["update"]["kernels_ms"], times["update"]),
                ("step", why["step_ms"], run["iteration_ms"])]
        for part, traced, simulated in rows:
            print("| torchrec_a100_pg509 | %s | %s | %.3f | %.3f | %+.1f |" % (of, part, traced, simulated, error(simulated, traced)))


with tempfile.TemporaryDirectory() as folder:
    own_steps(folder)
    print()
    third_batches(folder)
    print()
    simulated_tables(folder)
