#!/usr/bin/env python3
"""TorchRec's own benchmark, run by run: how near the predictions of scenarios/torchrec_pipelines.yaml come to what was measured.

Rows are in side groups, whose variants differ in one option each, so that ratios of their times do not depend on what the rows leave open of
their machines. A bound that is not reached stands here with the figure that is, and not as if it were reached.
Usage: torchrec_pipelines.py SHARDSIM SOURCE_DIR
"""

import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SHARDSIM, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
SCENARIO = SOURCE / "scenarios/torchrec_pipelines.yaml"
ROWS = SOURCE / "scenarios/measurements/torchrec/pipelines.csv"
NOISE = 0.05  # times of one group that differ by less are not told apart
# Measured again by a later commit (note of t072): what differs from the first time is noise of the machine.
AGAIN = {"t071": 5789.23}

faults = []


def check(condition, text):
    if not condition:
        faults.append(text)


def predictions(*options):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([SHARDSIM, "run", SCENARIO, *options, "-o", folder, "-q"], check=True, stdout=subprocess.DEVNULL)
        cases = json.loads((pathlib.Path(folder) / "result.json").read_text())["cases"]
    return {case["name"]: {each["quantity"].split(":")[0]: each for each in case.get("published", [])} for case in cases}


def compared(predicted, quantity):
    return {name: of[quantity] for name, of in predicted.items() if quantity in of}


def error(of):
    return of["predicted"] / of["value"] - 1


def check_scenario_is_that_of_the_rows():
    made = subprocess.run([sys.executable, SOURCE / "scripts/torchrec_pipelines.py"], check=True, capture_output=True, text=True)
    check(made.stdout == SCENARIO.read_text(encoding="utf-8"), "scripts/torchrec_pipelines.py writes another scenario")


def pairs(rows, times):
    """Rows of a group by twos: the measured ratio and the predicted one."""
    groups = {}
    for row in rows:
        if row["id"] in times and row["side_group"]:
            groups.setdefault(row["side_group"], []).append(times[row["id"]])
    for group in groups.values():
        for i, first in enumerate(group):
            for second in group[i + 1:]:
                yield second["value"] / first["value"], second["predicted"] / first["predicted"]


def with_the_second_time(times):
    return {name: {**of, "value": AGAIN.get(name, of["value"])} for name, of in times.items()}


def while_the_process_ran(rows, runs):
    """The host of the benchmark computes or spins while its GPU works, so a run in which its process had less processor time than the run
    took was held up by something else: its other process, which begins later, or connections that are made when they are first used."""
    ran = {row["id"]: float(row["cpu_runtime_ms"]) for row in rows if row["cpu_runtime_ms"]}
    return {name: {**of, "value": min(of["value"], ran.get(name, of["value"]))} for name, of in runs.items()}


def wrong_order(ratios):
    told_apart = [(there > 1) == (here > 1) for there, here in ratios if abs(there - 1) > NOISE]
    return 1 - sum(told_apart) / len(told_apart)


def figures_of(rows, predicted):
    check(sorted(predicted) == sorted(row["id"] for row in rows), "the cases are not the rows")
    runs, iterations = compared(predicted, "run"), compared(predicted, "iteration")
    times = {**runs, **iterations}
    peaks = compared(predicted, "peak_memory")
    known = [row["id"] for row in rows if row["gpu_basis"].startswith("said") and row["id"] in times]

    of_time = sorted(abs(error(times[name])) for name in times)
    of_known = {name: error(times[name]) for name in known}
    of_peak = sorted(abs(error(each)) for each in peaks.values())
    between_peaks = [abs(here / there - 1) for there, here in pairs(rows, peaks)]
    ratios = [(abs(here / there - 1), there, here) for of in (runs, iterations) for there, here in pairs(rows, of)]
    # A run and an iteration that was read in a trace are not variants of each other.
    repeated = [pair for of in (with_the_second_time(runs), iterations) for pair in pairs(rows, of)]
    off = sorted(ratio for ratio, _, _ in ratios)
    order_while_running = [pair for of in (while_the_process_ran(rows, runs), iterations) for pair in pairs(rows, of)]
    running = [abs(here / there - 1) for there, here in order_while_running]
    return {
        "iterations, median error": statistics.median(of_time),
        "iterations, worst error": of_time[-1],
        "iterations where the GPU is stated, worst error": max(abs(each) for each in of_known.values()),
        "ratios, median error": statistics.median(off),
        "ratios, worst error": off[-1],
        "ratios, worst error, of times in which the process ran": max(running),
        "ratios, share in the wrong order": wrong_order([(there, here) for _, there, here in ratios]),
        "ratios, share in the wrong order, t071 as measured again": wrong_order(repeated),
        "ratios, share in the wrong order, of times in which the process ran": wrong_order(order_while_running),
        "peaks, median error": statistics.median(of_peak),
        "peaks, worst error": of_peak[-1],
        "peaks, ratios of variants, median error": statistics.median(between_peaks),
        "peaks, ratios of variants, worst error": max(between_peaks),
    }


def compare(title, figures, bounds):
    print(title)
    for name, value in figures.items():
        print(f"  {name}: {100 * value:.1f} %")
    for name, bound in bounds.items():
        check(figures[name] <= bound, f"{title}: {name}: {100 * figures[name]:.1f} %, and {100 * bound:.1f} % had been reached")


def main():
    with open(ROWS, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    check_scenario_is_that_of_the_rows()
    compare("collections exchanged together", figures_of(rows, predictions()), BOUNDS)
    apart = predictions("--set", "workload.modules={exchanges: each}")
    compare("collections exchanged one by one", figures_of(rows, apart), BOUNDS_APART)


# What has been reached. Asked for: ratios 8 % at the median, 25 % at worst, 10 % in the wrong order; peaks and their ratios 10 % at the
# median; iterations where the GPU is stated 12 %.
BOUNDS = {
    # 8.0 before FBGEMM's gradient of ids' weights was simulated, which it computes in each backward pass; 11.7 below, where it is 9.6 now.
    "iterations, median error": 0.105,
    "iterations where the GPU is stated, worst error": 0.20,  # GB200, whose run of 10 batches begins slower than filling explains
    "ratios, median error": 0.08,
    # The light model without a pipeline against others; the cache without room for two batches. 50.0 with the fill of all systems in a node of H100.
    "ratios, worst error": 0.515,
    "ratios, worst error, of times in which the process ran": 0.36,  # the cache without room for two batches
    "ratios, share in the wrong order": 0.23,  # four pairs with t071, 10 % longer than when it was measured again; UVM against that cache
    "ratios, share in the wrong order, t071 as measured again": 0.10,
    "ratios, share in the wrong order, of times in which the process ran": 0.10,
    "peaks, median error": 0.10,
    "peaks, worst error": 0.23,
    "peaks, ratios of variants, median error": 0.10,
    "peaks, ratios of variants, worst error": 0.32,  # the light model against the base model; else 19, of two commits
}

# The same where each collection exchanges for itself, as in TorchRec. It is not the scenario's own way: what a first run takes besides, half
# a second on GB200, is not simulated, and exchanges that hide too little make up for a part of it.
BOUNDS_APART = {
    "iterations, median error": 0.10,
    "iterations where the GPU is stated, worst error": 0.19,
    "ratios, median error": 0.08,
    # 45.2 and 36.3 before the update of a batch waited for the prefetch of the next one, as FBGEMM's does: the cache without room for two
    # batches against UVM became 1 % shorter, against the cache with room it came 5 points nearer (27.4, had been 32.8).
    "ratios, worst error": 0.47,
    "ratios, worst error, of times in which the process ran": 0.38,
    "ratios, share in the wrong order": 0.23,
    "ratios, share in the wrong order, t071 as measured again": 0.10,
    "ratios, share in the wrong order, of times in which the process ran": 0.10,
    "peaks, median error": 0.12,
    "peaks, worst error": 0.18,
    "peaks, ratios of variants, median error": 0.10,
    "peaks, ratios of variants, worst error": 0.32,
}

if __name__ == "__main__":
    main()
    for fault in faults:
        print("error:", fault)
    sys.exit(1 if faults else 0)
