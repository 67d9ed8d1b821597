#!/usr/bin/env python3
"""NeuroShard's Figures 3, 4, 8 and 9 and its Tables 3 and 7 as a CSV: published beside ours.

Usage: neuroshard_figures.py SHARDSIM [-o FILE] [--tasks N] [--steps N] [--part figure3|figure4|exchanges|figure8|figure9|tables]...

Figure 3: shards of one table by their columns, and of several tables beside the sum of each alone: by the closed form of the paper's GPU, and as they
were measured on an H100 (scenarios/measurements/fbgemm/grid_h100.csv). Figure 4: exchanges of 4 GPUs by the widest one. Exchanges: the errors of their nets. Figure 8: costs learned from few and many
labels, and the plans made with them. Figure 9 and Tables 3 and 7: the settings of the search. Plans are those of N (20) tasks with 4 and with 8 GPUs
and columns up to 128, as neuroshard_settings.sh draws them, judged by simulation. Takes two minutes of a CPU.
"""

import argparse
import collections
import csv
import json
import math
import pathlib
import statistics
import sys
import tempfile

from shardsim_command import SOURCE, execute

MEASURED = SOURCE / "scenarios" / "measurements" / "fbgemm" / "grid_h100.csv"
SETTINGS = {4: ("--min-tables", "10", "--max-tables", "59", "--max-bytes", "15 GiB"), 8: ("--min-tables", "20", "--max-tables", "119", "--max-bytes", "31 GiB")}
DIMS = (8, 16, 32, 64, 128)
WIDEST = (200, 400, 600, 800)  # columns
LABELS = (24, 100, 1000, 10000)  # drawn; a third of them judges
VARIANTS = {"full": "", "without the beam": "rounds: 0", "without the grid": "grid: 0", "without the cache": "cache: false"}
SEARCHES = {"candidates": (1, 3, 10, 20), "beam": (1, 3, 6), "rounds": (1, 3, 10, 20), "grid": (1, 5, 11, 21)}
# Zha et al., MLSys 2023, Tables 3 and 7: cost over that of the full search, tasks solved %, cache hits %.
TABLES_3_7 = {4: {"without the beam": "-, 87, 79.1", "without the grid": "1.07, 100, 82.2", "without the cache": "1.00, 100, 0", "full": "1, 100, 95.4"},
              8: {"without the beam": "-, 63, 75.4", "without the grid": "1.14, 100, 79.8", "without the cache": "1.00, 100, 0", "full": "1, 100, 93.0"}}


class Runs:
    def __init__(self, program, folder, tasks, steps):
        self.program, self.folder, self.tasks, self.steps = pathlib.Path(program).resolve(), pathlib.Path(folder), tasks, steps

    def execute(self, *words):
        return execute(self.program, *words)

    def labelled(self, name, shards=None, count=None, *options):
        """Labels in closed form on the paper's GPU, of these shards or of drawn ones; the file's content."""
        drawn, path = self.folder / f"{name}_drawn.json", self.folder / f"{name}.json"
        self.execute("cost-model", "sample", "metasyn_856", "-n", count or 1, "--batch", 65536, *options, "-o", drawn, "--force")
        if shards:
            content = json.loads(drawn.read_text())
            content["shards"] = shards
            drawn.write_text(json.dumps(content))
        self.execute("cost-model", "label", drawn, "--cluster", "pcie_4gib_x4", "-o", path, "--force")
        return json.loads(path.read_text())

    def times(self, shards):
        content = self.labelled("times", shards)
        return dict(zip(shards, (a + b for a, b in zip(content["forward_us"], content["backward_us"]))))

    def planned(self, gpus, planners, *options):
        """{label: ({task: iteration in ms}, mean figures)} of NeuroShard's plans with these options."""
        scenario, out = self.folder / f"tasks_{gpus}.yaml", self.folder / f"out_{gpus}"
        self.execute("workload", "sample", "tasks", "metasyn_856", "--tasks", self.tasks, "--gpus", gpus, *SETTINGS[gpus], "--max-dim", 128, "-o", scenario, "--force")
        listed = ", ".join(f"{{name: neuroshard, label: {label.replace(' ', '_')}{', ' + options if options else ''}}}" for label, options in planners.items())
        self.execute("run", scenario, "-q", "-o", out, "--force", "--set", f"planners=[{listed}]", *options)
        result = json.loads((out / "result.json").read_text())
        found = {label: ({}, collections.defaultdict(list)) for label in planners}
        for case in result["cases"]:
            task, label = case["name"].rsplit("/", 1)
            found[label.replace("_", " ")][0][task] = case["iteration_ms"]
        for comparison in result["planner_comparisons"]:
            for plan in comparison["planners"]:
                label = plan.get("label", plan["planner"]).replace("_", " ")
                for key, value in plan.get("figures", {}).items():
                    found[label][1][key].append(value)
        return found


def over(times, full):
    """The mean over that of the full search, of the tasks that both solve."""
    both = [task for task in full if task in times]
    return sum(times[task] for task in both) / sum(full[task] for task in both)


def measured_calls():
    """{(tables, columns, what else a call is): its time in us} of calls over equal tables, as measured on an H100."""
    with MEASURED.open() as file:
        return {(int(entry["tables"]), int(entry["dim"]), *(entry[key] for key in ("kind", "pooling", "batch", "rows_per_table", "zipf"))):
                float(entry["fwd_us"]) + float(entry["bwd_us"]) for entry in csv.DictReader(file)}


def figure3(runs):
    tables = range(0, 856, 20)
    times = runs.times([f"{table}:{columns}" for table in tables for columns in (4, *DIMS)])
    ours = [statistics.mean(times[f"{table}:{columns // 2}"] / times[f"{table}:{columns}"] for table in tables) for columns in DIMS]
    yield (f"Figure 3, half of {', '.join(map(str, DIMS))} columns takes of the time of all", "more than half", numbers(ours),
           "closed form on a 2080 Ti, mean of 43 tables")
    calls = measured_calls()
    halves = [time / calls[1, columns, *rest] for columns in DIMS for (count, dim, *rest), time in calls.items()
              if (count, dim) == (1, columns // 2) and (1, columns, *rest) in calls]
    yield (f"Figure 3 on an H100, half of {', '.join(map(str, DIMS))} columns takes of the time of all", "more than half", numbers(halves),
           "measured: one table of 4 million rows, 20 rows a sample, 16,384 samples; with up to 32 columns nearly all of the time does not depend on them")
    drawn = runs.labelled("sets", None, 300)
    alone = runs.times(sorted({piece for shard in drawn["shards"] for piece in shard.split()}))
    shares = sorted((a + b) / sum(alone[piece] for piece in shard.split())
                    for shard, a, b in zip(drawn["shards"], drawn["forward_us"], drawn["backward_us"]) if " " in shard)
    tenth = len(shares) // 10
    yield ("Figure 3, a fused call over the sum of its tables alone: tenth, half, nine tenths of 300 shards", "below 1, and no fixed share",
           numbers((shares[tenth], statistics.median(shares), shares[-tenth])), "closed form: below 1 only by the start of kernels, so nearly a fixed share")
    fused = sorted(time / (4 * calls[count // 4, *rest]) for (count, *rest), time in calls.items() if (count // 4, *rest) in calls and count % 4 == 0)
    yield ("Figure 3 on an H100, a fused call over four calls of a quarter of its tables: least, middle, most", "below 1, and no fixed share",
           numbers((fused[0], statistics.median(fused), fused[-1])),
           f"measured: {len(fused)} pairs of calls over 2 to 64 equal tables of 32 to 128 columns; small calls gain most")


def exchange_times(content):
    """(columns of the widest rank, of all ranks, ms of the rank that starts last, in which nobody waits) of each labelled exchange."""
    found = []
    for columns, forward in zip(content["columns"], content["forward_us"]):
        columns, forward = ([float(number) for number in text.split()] for text in (columns, forward))
        found.append((max(columns), sum(columns), min(forward) / 1000))
    return found


def figure4(runs):
    found = exchange_times(runs.labelled("exchanges", None, 1000, "--exchanges", 4))
    widest, all_columns, longest = zip(*found)
    yield ("Figure 4, correlation of an exchange's time with the columns of the widest GPU; with those of all", "grows with the widest",
           numbers((correlation(widest, longest), correlation(all_columns, longest))), "1,000 exchanges of 4 GPUs in closed form")
    yield (f"Figure 4, exchanges whose widest GPU has {', '.join(map(str, WIDEST))} columns (within 50): mean ms", "a line without numbers",
           numbers(by_widest(found)), "likewise; 65,536 samples over PCIe")


def by_widest(found):
    return [statistics.mean(ms for widest, _, ms in found if abs(widest - columns) <= 50) for columns in WIDEST]


def correlation(one, other):
    mean, others = statistics.mean(one), statistics.mean(other)
    return sum((a - mean) * (b - others) for a, b in zip(one, other)) / math.sqrt(sum((a - mean) ** 2 for a in one) * sum((b - others) ** 2 for b in other))


def exchanges(runs):
    """The nets of exchanges on labels that no training saw."""
    runs.labelled("shards", None, 100)
    errors = {"forward": [], "backward": []}
    for gpus, cluster, nodes in ((4, "pcie_4gib_x4", 1), (8, "pcie_4gib_x8", 1), (128, "dgx_h100", 16)):
        drawn, labels, costs = (runs.folder / f"{gpus}_{name}" for name in ("drawn.json", "labels.json", "costs.h5"))
        runs.execute("cost-model", "sample", "metasyn_856", "-n", 8000 if gpus <= 8 else 1000, "--batch", 65536, "--exchanges", gpus, "-o", drawn)
        runs.execute("cost-model", "label", drawn, "--cluster", cluster, "--nodes", nodes, "-o", labels)
        runs.execute("cost-model", "train", runs.folder / "shards.json", "--with", labels, "--epochs", 100 if gpus <= 8 else 12, "-o", costs)
        for line in runs.execute("cost-model", "evaluate", costs, labels).splitlines():
            if " learned " in line:
                errors[line.split()[0]].append(f"{float(line.split()[5]):.2g}")
    for direction, published in (("forward", "0.02, 0.05, 0.05"), ("backward", "0.02, 0.04, 0.15")):
        yield (f"Test errors of exchanges, {direction}, 4, 8 and 128 GPUs, ms2", published, ", ".join(errors[direction]),
               "8,000, 8,000 and 1,000 exchanges (theirs: 100,000) in closed form; the nets of 128 GPUs (16 DGX H100) are ours: a row for each rank")


def figure8(runs):
    runs.labelled("all", None, LABELS[-1])
    content = json.loads((runs.folder / "all.json").read_text())
    errors, planners = [], {"full": ""}
    for count in LABELS:
        part = {**content, **{key: content[key][:count] for key in ("shards", "forward_us", "backward_us")}}
        (runs.folder / "part.json").write_text(json.dumps(part))
        batch = 16 if count * 2 / 3 < 4000 else 64
        epochs = max(1, round(runs.steps / max(1, count * 2 / 3 / batch)))
        runs.execute("cost-model", "train", runs.folder / "part.json", "--epochs", epochs, "-o", runs.folder / f"costs_{count}.h5", "--force")
        text = runs.execute("cost-model", "evaluate", runs.folder / f"costs_{count}.h5", runs.folder / "all.json")
        lines = {line.split()[0]: line.split() for line in text.splitlines() if " learned " in line}
        errors.append("{} and {}".format(*(lines[way][5] for way in ("forward", "backward"))))
        planners[f"learned {count}"] = f"costs: {{file: {runs.folder}/costs_{count}.h5}}"
    # Judged by what labelled: the closed form of cost-model label is the roofline's.
    found = runs.planned(4, planners, "--set", "compute_model={name: roofline}")
    counts = ", ".join(f"{count:,}" for count in LABELS)
    yield (f"Figure 8, mean square error ms2 of costs learned from {counts} shards, forward and backward", "-", "; ".join(errors),
           f"a third of the shards is held back from training; {runs.steps:,} steps each; labels in closed form")
    yield (f"Figure 8, iterations with these costs over those with the closed form, 4 GPUs, columns up to 128 ({runs.tasks} tasks)",
           "about 100 labels already give strong plans", numbers(over(found[f"learned {count}"][0], found["full"][0]) for count in LABELS),
           "plans judged by simulation with the roofline, which labelled the shards")


def figure9(runs):
    for key, values in SEARCHES.items():
        found = runs.planned(4, {"full": "", **{f"{key} {value}": f"{key}: {value}" for value in values}})
        ours = [over(found[f"{key} {value}"][0], found["full"][0]) for value in values]
        counted = "passes" if key == "grid" else "searches"
        work = [statistics.mean(found[f"{key} {value}"][1][counted]) for value in values]
        letter = {"candidates": "N", "beam": "K", "rounds": "L", "grid": "M"}[key]
        yield (f"Figure 9, {letter} = {', '.join(map(str, values))} ({key}): iteration over that of the defaults; {'passes' if key == 'grid' else 'lists searched'}",
               "larger is better and takes longer", numbers(ours, 3) + "; " + numbers(work, 0), "the others at their defaults (N 10, K 3, L 10, M 11)")


def tables_3_7(runs):
    for gpus, number in ((4, 3), (8, 7)):
        found = runs.planned(gpus, VARIANTS)
        full = found["full"][0]
        for label in VARIANTS:
            hits = found[label][1]["cache_hit_rate"]
            rate = 100 * statistics.mean(hits) if hits and label != "without the cache" else 0
            yield (f"Table {number}, {gpus} GPUs, {label}: time over that of the full search, tasks solved %, cache hits %", TABLES_3_7[gpus][label],
                   f"{over(found[label][0], full):.2f}, {100 * len(found[label][0]) / runs.tasks:.0f}, {rate:.1f}",
                   "tables of more than half a GPU are cut before the search" if label == "without the beam" else "other tables, other costs")


def numbers(values, digits=2):
    return ", ".join(f"{value:,.{digits}f}" for value in values)


PARTS = {"figure3": figure3, "figure4": figure4, "exchanges": exchanges, "figure8": figure8, "figure9": figure9, "tables": tables_3_7}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shardsim")
    parser.add_argument("-o", dest="file")
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--part", choices=PARTS, action="append")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(given.shardsim, folder, given.tasks, given.steps)
        rows = [row for name, part in PARTS.items() if not given.part or name in given.part for row in part(runs)]
    with open(given.file, "w", newline="") if given.file else sys.stdout as out:
        out.write("# scripts/neuroshard_figures.py SHARDSIM\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("what", "published", "ours", "why"))
        writer.writerows(rows)


if __name__ == "__main__":
    main()
