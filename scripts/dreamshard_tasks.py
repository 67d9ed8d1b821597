#!/usr/bin/env python3
"""DreamShard on tasks as its own paper has them, beside AutoShard and the heuristics, as a CSV: a row for each planner and size.

Usage: dreamshard_tasks.py SHARDSIM [-o FILE] [--tasks N] [SIZE...]

A SIZE is TABLESxGPUS, as 60x4; all nine without. N (10) tasks each: 16 columns, fp16, no table twice, 5 GiB a GPU, of the pool metasyn_856 (the
published code's settings: Zha et al., NeurIPS 2022). The shipped policies plan them, which learned 80 tables of 16 or 32 columns on 8 GPUs. `mean_ms`: by
simulation, over the tasks that every planner solves (`tasks`). `dreamshard_paper` takes what the policy scores highest, as the paper does; `dreamshard` also draws
placements and measures the best. Takes half a minute of a CPU.
"""

import argparse
import csv
import json
import pathlib
import sys
import tempfile

from shardsim_command import execute

SIZES = ("20x2", "20x4", "40x4", "60x4", "80x4", "100x4", "40x8", "80x8", "100x8")
HEURISTICS = ("size", "dim", "lookup", "size_lookup")
POLICY = "policy: scenarios/policies/{}_tasks.h5"
PLANNERS = ([f"{{name: greedy, score: {score}, label: {score}}}" for score in HEURISTICS] +
            ["{name: autoshard, " + POLICY.format("autoshard") + "}", "{name: dreamshard, " + POLICY.format("dreamshard") + "}",
             "{name: dreamshard, " + POLICY.format("dreamshard") + ", samples: 0, label: dreamshard_paper}"])


def times(program, folder, size, tasks):
    """Planner: {task: iteration in ms}."""
    tables, gpus = size.split("x")
    scenario, out = folder / f"{size}.yaml", folder / size
    execute(program, "workload", "sample", "tasks", "metasyn_856", "--tasks", tasks, "--cluster", "pcie_4gib_x8" if gpus == "8" else "pcie_4gib_x4", "--gpus", gpus,
            "--memory", "5 GiB", "--min-tables", tables, "--max-tables", tables, "--min-dim", 16, "--max-dim", 16, "--dtype", "fp16", "--without-replacement",
            "-o", scenario)
    execute(program, "run", scenario, "--set", f"planners=[{', '.join(PLANNERS)}]", "-o", out, "-q")
    found = {}
    for case in json.loads((out / "result.json").read_text())["cases"]:
        task, planner = case["name"].rsplit("/", 1)
        found.setdefault(planner, {})[task] = case["iteration_ms"]
    return found


def rows_of(program, folder, size, tasks):
    found = times(program, folder, size, tasks)
    common = set.intersection(*(set(solved) for solved in found.values()))
    if len(found) < len(PLANNERS) or not common:
        sys.exit(f"dreamshard_tasks.py: {size}: no task is solved by every planner")
    for planner, solved in found.items():
        yield (*size.split("x"), planner, len(common), tasks, f"{sum(solved[task] for task in common) / len(common):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shardsim")
    parser.add_argument("-o", dest="file")
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("sizes", nargs="*", metavar="SIZE", default=SIZES)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for size in given.sizes for row in rows_of(pathlib.Path(given.shardsim).resolve(), pathlib.Path(folder), size, given.tasks)]
    with open(given.file, "w", newline="") if given.file else sys.stdout as out:
        out.write(f"# scripts/dreamshard_tasks.py SHARDSIM: {given.tasks} tasks of each size\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("tables", "gpus", "planner", "tasks", "all", "mean_ms"))
        writer.writerows(rows)


if __name__ == "__main__":
    main()
