#!/usr/bin/env python3
"""NeuroShard's Table 1 from the results of scripts/neuroshard_settings.sh -l, as CSV: a row for each method and setting.

Usage: neuroshard_table1.py OUT [SETTING...]

A figure is the mean time of the method over that of NeuroShard, over the tasks that both solve (`tasks`, of `all`). `published` is the
same quotient of the paper's means (Zha et al., MLSys 2023, table 1); "-": out of memory on a task at least. Methods that were not run
have no row. A last line counts the tasks that NeuroShard planned by the laws of the kernels, since the costs that were learned on their GPU do not cover them.
"""

import csv
import json
import pathlib
import sys

# Milliseconds of Table 1: 4 GPUs with dims up to 4, 8, 16, 32, 64, 128, then 8 GPUs. 0: "-".
PUBLISHED = {
    "random": (25.47, 30.10, 0, 0, 0, 0, 33.40, 36.43, 0, 0, 0, 0),
    "size": (24.45, 29.60, 30.86, 37.80, 41.59, 0, 31.75, 34.30, 37.70, 46.07, 54.57, 0),
    "dim": (23.51, 28.46, 29.76, 35.98, 38.71, 0, 27.54, 32.20, 34.78, 42.35, 47.54, 0),
    "lookup": (18.69, 24.34, 26.83, 34.62, 38.69, 0, 21.83, 26.66, 30.59, 39.07, 47.47, 0),
    "size_lookup": (18.38, 24.18, 26.81, 33.94, 0, 0, 21.27, 26.55, 30.34, 39.28, 48.17, 0),
    "cost": (0,) * 12,  # greedy by the costs of the case: not in the paper
    "autoshard": (17.99, 22.08, 0, 0, 0, 0, 20.79, 0, 0, 0, 0, 0),
    "dreamshard": (18.78, 22.59, 25.08, 30.74, 0, 0, 21.40, 25.30, 26.90, 0, 0, 0),
    "torchrec": (19.20, 26.00, 28.24, 34.88, 38.13, 47.22, 22.34, 28.99, 32.71, 39.90, 47.43, 60.58),
    "neuroshard": (17.74, 21.75, 23.11, 28.86, 31.55, 39.99, 20.68, 23.23, 25.64, 32.30, 38.30, 49.10),
}
DIMS = (4, 8, 16, 32, 64, 128)
SETTINGS = [f"{gpus}x{dim}" for gpus in (4, 8) for dim in DIMS]


def times(out, setting):
    """Planner: {task: iteration in ms} of a setting."""
    found = {}
    for case in json.loads((out / setting / "result.json").read_text())["cases"]:
        task, planner = case["name"].rsplit("/", 1)
        found.setdefault(planner, {})[task] = case["iteration_ms"]
    return found


def rows_of(out, setting):
    column = SETTINGS.index(setting)
    found = times(out, setting)
    best = found["neuroshard"]
    for method, published in PUBLISHED.items():
        if method not in found:
            continue
        both = [task for task in best if task in found[method]]
        ratio = sum(found[method][task] for task in both) / sum(best[task] for task in both) if both else 0
        theirs = published[column] / PUBLISHED["neuroshard"][column]
        gpus, dim = setting.split("x")
        yield (method, gpus, dim, f"{theirs:.2f}" if theirs else "-", f"{ratio:.2f}" if both else "-", len(both), len(best),
               f"{sum(found[method][task] for task in both) / len(both):.2f}" if both else "-")


def uncovered(out, setting):
    """For each task of NeuroShard, whether a note says that the learned costs do not cover it."""
    cases = json.loads((out / setting / "result.json").read_text())["cases"]
    return [any("costs that were learned on this GPU do not cover" in note for note in case["notes"]) for case in cases if case["name"].endswith("/neuroshard")]


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("method", "gpus", "dim", "published", "ours", "tasks", "all", "mean_ms"))
    laws = []
    for setting in sys.argv[2:] or SETTINGS:
        writer.writerows(rows_of(pathlib.Path(sys.argv[1]), setting))
        laws += uncovered(pathlib.Path(sys.argv[1]), setting)
    if any(laws):
        print(f"# NeuroShard planned {sum(laws)} of {len(laws)} tasks by the laws of the kernels")
    return 0


if __name__ == "__main__":
    sys.exit(main())
