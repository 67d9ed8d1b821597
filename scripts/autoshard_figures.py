#!/usr/bin/env python3
"""AutoShard's Figures 9 and 10, the errors of its Table 3, and rewards from laws and nets of measured kernels, as a CSV.

Usage: autoshard_figures.py SHARDSIM [-o FILE] [--updates N] [--part figure9|figure10|measured]...

Figure 9: how even the plans of a policy are after so many samples (ten a training step) and those of random search.
Figure 10 and Table 3: a policy that is trained on one half of the pool's tables (90 tasks of 80), on tasks of which a share of the tables is from
the other half, and how far its cost model is off on shards of either half. Measured shards: the same for a DGX H100, once rewarded by the
laws of FBGEMM's kernels, once by the nets that were trained on measured calls (fp32, row-wise Adagrad: what the nets cover).
Everything is drawn and trained with fixed seeds. Takes ten minutes of a CPU; --updates 2 shows in one that it works.
"""

import argparse
import csv
import json
import pathlib
import random
import re
import sys
import tempfile

from shardsim_command import SOURCE, execute

TASKS = SOURCE / "scenarios" / "autoshard_tasks.yaml"
POOL, TABLES = 856, 80
STEPS = (1, 5, 15, 50, 250)  # of ten samples each
FAST_STEPS = (5, 15, 250)  # likewise
RATIOS = (0, 20, 40, 60, 80, 100)  # % of a task's tables that no task of the training has
H100 = ("workload", "sample", "tasks", "metasyn_856", "--cluster", "dgx_h100", "--min-dim", "16", "--max-dim", "32", "--without-replacement", "--dtype", "fp32")
ADAGRAD = "workload.optimizer={name: rowwise_adagrad}"  # what the nets of measured calls hold for


class Trainings:
    def __init__(self, program, folder, updates):
        self.program, self.folder, self.most = pathlib.Path(program).resolve(), pathlib.Path(folder), updates

    def execute(self, *words):
        return execute(self.program, *words)

    def train(self, scenario, policy, *options, updates=250):
        """The numbers that the training prints: {way or kind of shards: [numbers]}."""
        text = self.execute("autoshard", "train", scenario, "--updates", min(updates, self.most), "-o", self.folder / policy, "--force", *options)
        rows = {}
        for line in text.splitlines():
            parts = re.split(r"  +", line.strip())
            if len(parts) > 2 and all(re.fullmatch(r"[0-9.]+x?", part) for part in parts[1:]):
                rows[parts[0]] = [float(part.rstrip("x")) for part in parts[1:]]
        return rows

    def balances(self, scenario, policy):
        """Mean balance in % of the policy's plans of all cases."""
        out = self.folder / (pathlib.Path(scenario).stem + "_run")
        self.execute("run", scenario, "-o", out, "-q", "--set", f"planners=[{{name: autoshard, policy: {self.folder / policy}}}, {{name: greedy, score: lookup}}]")
        result = json.loads((out / "result.json").read_text())
        found = [plan["figures"]["balance"] for comparison in result["planner_comparisons"] for plan in comparison["planners"] if plan["planner"] == "autoshard"]
        return 100 * sum(found) / len(found)

    def larger_task(self, tables, gpus, policy):
        """Balance in % of the policy's plan, and its iteration over that of greedy by cost, of one task."""
        scenario, out = self.folder / f"larger_{tables}.yaml", self.folder / f"larger_{tables}"
        self.execute(*H100, "--tasks", "1", "--gpus", gpus, "--min-tables", tables, "--max-tables", tables, "-o", scenario, "--force")
        self.execute("run", scenario, "-o", out, "-q", "--set", ADAGRAD, "--set",
                     f"planners=[{{name: autoshard, policy: {self.folder / policy}}}, {{name: greedy, score: cost}}]")
        result = json.loads((out / "result.json").read_text())
        times = {case["name"].split("/")[-1]: case["iteration_ms"] for case in result["cases"]}
        figures = next(plan["figures"] for plan in result["planner_comparisons"][0]["planners"] if plan["planner"] == "autoshard")
        return 100 * figures["balance"], times["autoshard"] / times["greedy"]


def case_of(name, tables, rng):
    dims = [rng.choice((16, 32)) for _ in tables]
    return (f"  - name: {name}\n    workload: {{name: {name.replace('/', '_')}, batch_per_gpu: 8192, optimizer: {{name: sgd}}, input_exchange: none,\n"
            f"      tables_from: {{workload: metasyn_856, dtype: fp16, tables: {tables},\n        dims: {dims}}}}}\n")


def halves():
    rng = random.Random(0)
    tables = list(range(POOL))
    rng.shuffle(tables)
    return rng, tables[:POOL // 2], tables[POOL // 2:]


def unseen_scenarios(folder):
    """The scenario of the training, whose tests are of the other half alone, and those of each ratio."""
    rng, seen, unseen = halves()
    head = TASKS.read_text().split("cases:\n")[0]
    head = "".join(line for line in head.splitlines(keepends=True) if not line.startswith("#")) + "cases:\n"
    cases = [case_of(f"train/{number}", rng.sample(seen, TABLES), rng) for number in range(90)]
    paths = {}
    for ratio in RATIOS:
        other = TABLES * ratio // 100
        tests = [case_of(f"test/{number}", rng.sample(unseen, other) + rng.sample(seen, TABLES - other), rng) for number in range(10)]
        paths[ratio] = folder / f"ratio_{ratio}.yaml"
        paths[ratio].write_text(head + "".join(tests))
        if ratio == RATIOS[-1]:
            cases += tests
    training = folder / "half.yaml"
    training.write_text(head + "".join(cases))
    return training, paths


def figure9(trainings):
    found = [trainings.train(TASKS, "policy.h5", updates=steps) for steps in STEPS]
    fast = [trainings.train(TASKS, "fast.h5", "--rate", "0.003", "--stop-after", min(steps, trainings.most), updates=STEPS[-1]) for steps in FAST_STEPS]
    samples = listed_samples(STEPS)
    yield (f"Figure 9, balance % of policies trained on {samples} samples", "above 80 after about 150", numbers(rows["policy"][1] for rows in found),
           "each number is a training of its own, at the published code's rate, by which Adam's first 15 steps reach no further")
    yield (f"Figure 9, three times the rate: balance % of one training's policy after {listed_samples(FAST_STEPS)} samples", "above 80 after about 150",
           numbers(rows["policy"][1] for rows in fast), "the rate (0.003) has hardly fallen after 150; the end is the same as with 0.001")
    yield (f"Figure 9, balance % of greedy by the costs that were learned from {samples} samples", "-",
           numbers(rows["greedy, costs of the policy"][1] for rows in found), "the cost model takes twenty steps for each one of the policy")
    searched = [found[0][f"random, best of {draws}"][1] for draws in ("10", "100", "1,000")]
    yield ("Figure 9, random search, balance % of the best of 10, 100, 1,000 plans; of lookup-greedy", "about lookup-greedy after 1,000",
           numbers(searched) + "; " + f"{found[0]['greedy, score lookup'][1]:.1f}", "mean of ten tasks; of plans that fit in memory")


def listed_samples(steps):
    return ", ".join(f"{10 * count:,}" for count in steps)


def errors_row(label, published, row, why):
    return (f"{label}: mean error ms, mean square ms2", published, f"{row[0]:.3f}, {row[1]:.4f} ({row[2]:.1f} %)", why)


def figure10(trainings, folder):
    training, paths = unseen_scenarios(folder)
    rows = trainings.train(training, "half.h5", "--test", "test/*")
    balances = [trainings.balances(paths[ratio], "half.h5") for ratio in RATIOS]
    yield (f"Figure 10, balance % with {', '.join(map(str, RATIOS))} % unseen tables", "80 or more up to 80, above 70 at 100", numbers(balances),
           "trained on 90 tasks of one half of the pool")
    yield ("Figure 10, speed-up over random, all tables unseen", "about 1.6", f"{rows['policy'][-1]:.2f}", "likewise; lookup-greedy "
           f"{rows['greedy, score lookup'][-1]:.2f}")
    yield errors_row("Table 3, cost model on tables of the training's half", "1.321, 3.408", rows["tasks trained on"], "costs in closed form hold no noise, theirs were measured")
    ratio = rows["tasks held back"][0] / rows["tasks trained on"][0]
    yield errors_row("Table 3, cost model on unseen tables", "3.061, 10.835", rows["tasks held back"], f"mean error over that on seen tables: {ratio:.1f}, theirs 2.3")


def measured(trainings, folder):
    tasks = folder / "h100.yaml"
    trainings.execute(*H100, "--tasks", "60", "--test", "10", "--gpus", "8", "--min-tables", "80", "--max-tables", "80", "-o", tasks, "--force")
    for name, label in (("learned", "nets of measured calls"), ("gpu_kernels", "laws of FBGEMM's kernels")):
        rows = trainings.train(tasks, f"{name}.h5", "--set", ADAGRAD, "--set", f"compute_model={{name: {name}}}")
        others = (f"{way} {rows[f'greedy, score {score}'][1]:.1f} and {rows[f'greedy, score {score}'][-1]:.3f}"
                  for way, score in (("greedy by cost", "cost"), ("lookup-greedy", "lookup")))
        yield (f"Reward from {label}, 80 tables on 8 H100: balance %, speed-up over random", "88.6, 1.712",
               f"{rows['policy'][1]:.1f}, {rows['policy'][-1]:.3f}", ", ".join(others) + "; theirs were measured on 2080 Ti")
    found = [trainings.larger_task(tables, tables // 10, "gpu_kernels.h5") for tables in (80, 160, 320, 640)]
    yield ("Figure 11, the same policy on 80, 160, 320, 640 tables on 8, 16, 32, 64 H100: balance %; iteration over that of greedy by cost",
           "a curve without numbers", numbers(balance for balance, _ in found) + "; " + ", ".join(f"{over:.2f}" for _, over in found),
           "trained on 80 tables on 8 of the same GPUs")


def numbers(values):
    return ", ".join(f"{value:.1f}" for value in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shardsim")
    parser.add_argument("-o", dest="file")
    parser.add_argument("--updates", type=int, default=250)
    parser.add_argument("--part", choices=("figure9", "figure10", "measured"), action="append")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trainings = Trainings(given.shardsim, folder, given.updates)
        parts = {"figure9": lambda: figure9(trainings), "figure10": lambda: figure10(trainings, pathlib.Path(folder)),
                 "measured": lambda: measured(trainings, pathlib.Path(folder))}
        rows = [row for name, part in parts.items() if not given.part or name in given.part for row in part()]
    with open(given.file, "w", newline="") if given.file else sys.stdout as out:
        out.write("# scripts/autoshard_figures.py SHARDSIM" + ("" if given.updates == 250 else f" --updates {given.updates}") + "\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("what", "published", "ours", "why"))
        writer.writerows(rows)


if __name__ == "__main__":
    main()
