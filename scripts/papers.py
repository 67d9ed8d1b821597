#!/usr/bin/env python3
"""Fills the tables of docs/papers.md, and those of docs/flexshard.md and docs/planners.md beside them: what the papers print, and what the commands of the pages give.

Usage: papers.py SHARDSIM [--update | --check] [SECTION...]

SECTION: flexshard, flexshard_gain, flexshard_dedup, autoshard, neuroshard, neuroshard_table1, dreamshard; all without. Prints the rows; --update writes them
into the page, between <!-- rows: SECTION --> and <!-- end -->; --check compares them with what stands there. Rows of commands that take longer than two
minutes come from docs/papers/*.csv, which the scripts that the page names have written; of some of them --update draws charts. Takes half a minute of a CPU.
Exit: 0 done, or the page is as it should be; 1 it is not; 2 wrong usage.
"""

import csv
import difflib
import json
import pathlib
import re
import sys
import tempfile

import flexshard_gain
import paper_charts
from shardsim_command import SOURCE, execute

PAGE = SOURCE / "docs" / "papers.md"
OTHER_PAGES = {"flexshard_dedup": "flexshard.md", "neuroshard_table1": "planners.md"}  # section: its page in docs/
MODELS = ["rm1", "rm2", "rm3", "rm4"]
PLANS = ["flexshard_2tier", "flexshard_3tier"]
HEURISTICS = ["size", "dim", "lookup", "size_lookup"]

# FlexShard, Table 6: elements of the global all-to-all in one direction, by model: row-wise, two tiers, three tiers.
ELEMENTS = {"rm1": (972424960, 450510848, 297697024), "rm2": (958656768, 220126208, 138198784),
            "rm3": (466826496, 311369728, 246077440), "rm4": (473709312, 201887232, 118944768)}
# The same table, in ms: global all-to-all and global all-reduce, row-wise, two tiers, three tiers.
TIMES = {"rm1": ((307, 0), (149, 3), (99, 3)), "rm2": ((308, 0), (80, 6), (49, 3)), "rm3": ((156, 0), (101, 4), (85, 2)),
         "rm4": ((155, 0), (72, 5), (45, 3))}
# The column "Reduction %" as it is printed.
REDUCTION = {"rm1": (53.7, 69.4), "rm2": (77.0, 85.6), "rm3": (33.3, 47.3), "rm4": (57.4, 74.8)}


class Runs:
    """Results of scenarios, each run once."""

    def __init__(self, program, folder):
        self.program, self.folder, self.known = pathlib.Path(program).resolve(), pathlib.Path(folder), {}

    def execute(self, *words):
        execute(self.program, *words)

    def result(self, scenario, *options):
        key = (scenario, *options)
        if key not in self.known:
            out = self.folder / f"run{len(self.known)}"
            self.execute("run", scenario, "-o", out, "-q", *options)
            self.known[key] = json.loads((out / "result.json").read_text())
        return self.known[key]

    def drawn_task(self, tables, gpus):
        """A scenario of one task of the pool, like AutoShard's but for its numbers of tables and of H100."""
        path = self.folder / f"task_{tables}_{gpus}.yaml"
        if not path.is_file():
            self.execute("workload", "sample", "tasks", "metasyn_856", "--tasks", "1", "--cluster", "dgx_h100", "--gpus", gpus, "--min-tables", tables,
                         "--max-tables", tables, "--min-dim", "16", "--max-dim", "32", "--dtype", "fp16", "--without-replacement", "-o", path)
        return path

    def cases(self, scenario, *options):
        return {case["name"]: case for case in self.result(scenario, *options)["cases"]}


def collective(case, name, key="total_ms"):
    """A figure of a collective of a case; 0 without it."""
    return sum(entry[key] for entry in case["collectives"] if entry["name"] == name)


def published(case, quantity):
    return next(entry for entry in case["published"] if entry["quantity"] == quantity)


def numbers(values, digits=1):
    return ", ".join(f"{value:.{digits}f}" for value in values)


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def latency_gain(row_wise, plan):
    """Figure 7: the all-to-all row-wise over the all-to-all and the all-reduce of the plan over all GPUs."""
    return row_wise[0] / (plan[0] + plan[1])


def flexshard_reductions(cases):
    def ours(plan):
        return [100 - published(cases[f"{model}/{plan}"], "coverage:row_wise")["predicted"] for model in MODELS]

    def observed(number):
        return [100 * (1 - ELEMENTS[model][number] / ELEMENTS[model][0]) for model in MODELS]

    printed = [[100 - published(cases[f"{model}/{plan}"], "coverage:row_wise")["value"] for model in MODELS] for plan in PLANS]
    rows = []
    for number, plan in enumerate(PLANS):
        tiers = f"{number + 2} tiers"
        rows.append(row(f'Table 6, "Reduction %" and Figure 6 observed, {tiers}, RM-1 to RM-4',
                        numbers(REDUCTION[model][number] for model in MODELS), numbers(observed(number + 1)), "arithmetic",
                        "1 - elements of the plan / elements row-wise, both printed" +
                        ("; 74.8 is 74.89, cut off" if number else "")))
        rows.append(row(f"Figure 6, predicted by the planner, {tiers}", numbers(printed[number]), numbers(ours(plan)), "A",
                        "row distributions were fitted to Table 5: this is their fit. The paper's planner and its run differ by up to "
                        f"{max(abs(a - b) for a, b in zip(printed[number], observed(number + 1))):.1f} points"))
    return rows


def flexshard_latencies(cases):
    rows = []
    for number, plan in enumerate(PLANS):
        theirs = [latency_gain(TIMES[model][0], TIMES[model][number + 1]) for model in MODELS]
        ours = []
        for model in MODELS:
            row_wise, tiered = cases[f"{model}/row_wise"], cases[f"{model}/{plan}"]
            ours.append(latency_gain((collective(row_wise, "global_all_to_all"), 0), (
                collective(tiered, "global_all_to_all"), collective(tiered, "global_all_reduce"))))
        why = "by the planned payload; the paper prints no values, these follow from its Table 6"
        if number:
            why = 'likewise; its text says "nearly 6x"'
        rows.append(row(f"Figure 7, gain of communication latency, {number + 2} tiers, RM-1 to RM-4", numbers(theirs, 2),
                        numbers(ours, 2), "A", why))
    return rows


def at_observed_payload(case, name):
    """ms of the calls of a collective with the sizes that the paper observed; as planned where it prints no size, 0 where there is no call."""
    return sum(entry.get("predicted_at_observed_payload", entry["predicted"]) for entry in case["published"] if entry["quantity"] == name)


def flexshard_observed_latencies(cases):
    rows = []
    for number, plan in enumerate(PLANS):
        theirs = [latency_gain(TIMES[model][0], TIMES[model][number + 1]) for model in MODELS]
        ours = [latency_gain((at_observed_payload(cases[f"{model}/row_wise"], "global_all_to_all"), 0),
                             [at_observed_payload(cases[f"{model}/{plan}"], name) for name in ("global_all_to_all", "global_all_reduce")]) for model in MODELS]
        worst = max((100 * (a / b - 1) for a, b in zip(ours, theirs)), key=abs)
        rows.append(row(f"Figure 7 with the sizes of Table 6 instead of the planned ones, {number + 2} tiers, RM-1 to RM-4", numbers(theirs, 2), numbers(ours, 2),
                        "A", f"within {abs(worst):.1f} %: what is left of the differences is the times of exchanges, printed in whole ms"))
    return rows


def gain_rows(runs):
    """The rows that say what RM-1's gain in three tiers depends on."""
    rows = []
    for kind, name, planned, other in flexshard_gain.variants(runs.program):
        rows.append(row(("order: " if kind == "order" else "") + name, numbers(planned, 2), *((numbers(other, 2), "-") if kind == "simulated" else ("-", numbers(other, 2)))))
    return rows


def flexshard_times(cases):
    rows = []
    for name, label in (("global_all_to_all", "all-to-all over all GPUs"), ("intra_node_all_to_all", "all-to-all in a node"),
                        ("global_all_reduce", "all-reduce over all GPUs"), ("cross_node_all_reduce", "all-reduce across nodes")):
        theirs, ours, errors, fitted = [], [], [], []
        for case in cases.values():
            for entry in case["published"]:
                if entry["quantity"] == name:
                    if entry["role"] == "fitted":
                        fitted.append(case["name"])
                    theirs.append(entry["value"])
                    ours.append(entry["predicted"])
                    errors.append(entry["error_pct"])
        mean = sum(abs(error) for error in errors) / len(errors)
        worst = max(errors, key=abs)
        why = "constants fitted on " + ", ".join(fitted) if fitted else "none of these times was fitted"
        if name == "global_all_reduce":
            why += "; no function of the size fits the printed times: 354 MB take 3 ms, 189 MB take 5"
        rows.append(row(f"Table 6, {label}, {len(theirs)} times, ms", numbers(theirs, 0), numbers(ours), "A",
                        f"mean error {mean:.1f} %, largest {worst:+.1f} %; {why}"))
    return rows


def flexshard_plans(cases):
    rows, worst, off = [], {}, 0
    for case in cases.values():
        for entry in case["published"]:
            if entry["quantity"].startswith("rows:"):
                worst[case["name"]] = max(worst.get(case["name"], 0), abs(entry["error_pct"]))
            if entry["quantity"].startswith("coverage:") and not case["name"].endswith("row_wise"):
                off = max(off, abs(entry["predicted"] - entry["value"]))
    for number, plan in enumerate(PLANS):
        rows.append(row(f"Table 5, rows of each tier, {number + 2} tiers, RM-1 to RM-4", f"{8 + 4 * number} row counts",
                        "largest error " + numbers((worst[f"{model}/{plan}"] for model in MODELS), 2) + " %", "A",
                        "five knots a model are fitted to these numbers; RM-2's middle tier is 0.3 % short ([why](flexshard.md#row-distributions))"))
    return rows + [row("Table 5, share of the lookups of each tier, RM-1 to RM-4", "20 shares", f"largest error {off:.2f} points", "A", "the same fit")]


def flexshard_sizes(cases):
    """Table 4 and the sizes of Table 6: what the plans send, beside what the paper prints."""
    def sent(name):
        return collective(cases[name], "global_all_to_all", "bytes_per_rank") / 2

    row_wise = [sent(f"{model}/row_wise") / 1e9 for model in MODELS]
    rows = [row("Table 4, activations of a GPU, RM-1 to RM-4, GB", "4.19, 4.19, 2.10, 2.10", numbers(row_wise, 2), "A",
                "theirs are of about 1,000 and 500 items a sample, their Table 5 needs 961, 955, 482 and 473; ours are of the busiest GPU")]
    theirs = [size / 1e6 for model in MODELS for size in ELEMENTS[model]]
    ours = [sent(f"{model}/{plan}") / 4e6 for model in MODELS for plan in ("row_wise", *PLANS)]
    errors = [100 * (a / b - 1) for a, b in zip(ours, theirs)]
    return rows + [row("Table 6, elements of the all-to-all over all GPUs in one direction, 12 sizes, millions", numbers(theirs), numbers(ours), "A",
                       f"mean error {mean(map(abs, errors)):.1f} %, largest {max(errors, key=abs):+.1f} %: theirs are of one iteration, and 4 to 8 % below what their Table 5 gives; ours are of the busiest GPU")]


def flexshard_curves(cases):
    """Figures 2 to 5: diagrams and curves without numbers."""
    shares = [[100 * next(tier["rows"] for tier in cases[f"{model}/{plan}"]["placements"] if tier["strategy"] == "data_parallel") / (30e6 if model in MODELS[:2] else 10e6)
               for model in MODELS] for plan in reversed(PLANS)]
    at = (1e-6, 1e-5, 1e-4, 1e-3)
    memory, time = ([(6 + 4096 * p) / (1 / 32 + 2 * 4096 * p) for p in at], [1 / (6 * 4096 * p) for p in at])
    return [row("Table 3, cost of a table by strategy", "equations", "the same", "-", "they are those of [flexshard.md](flexshard.md); one printing has E for E/W in the all-reduce of Flex, which its own times contradict"),
            row("Figures 2 and 4", "a diagram; row distributions without numbers", "-", "-", "nothing is printed to compare with"),
            row("Figure 3, a row of p = 1e-6, 1e-5, 1e-4, 1e-3 as DP: memory and time over row-wise", "two curves without numbers", numbers(memory) + "; " + numbers(time, 3),
                "arithmetic", 'equations of Table 3; at "the order of 1e-4" DP takes 7.5 times the memory and less than half of the time'),
            row("Figure 5, rows as DP for the least memory, RM-1 to RM-4, %", "a curve without numbers", numbers(shares[0], 2), "A", "the replicated tier of three; the report of A draws the curve"),
            row("Figure 5, rows as DP for the memory of row-wise, RM-1 to RM-4, %", "it ends at about 1.1", numbers(shares[1], 2), "A",
                "the replicated tier of two; the paper does not say whose curve it draws")]


def flexshard_whole(cases):
    rows = []
    for plan, note in zip(PLANS, ("fitted: the rest of the iteration (102 ms) follows from it",
                                  "half of what can overlap is hidden in the paper, nearly all of it here ([what it depends on](#what-rm-1s-gain-depends-on))")):
        case = cases[f"rm1/{plan}"]
        gain, saved = published(case, "throughput_gain"), published(case, "memory_saved")
        rows.append(row(f"RM-1 end to end, throughput, {plan[10]} tiers", f"+{gain['value']:.0f} %", f"+{gain['predicted']:.1f} %", "A", note))
        rows.append(row(f"RM-1, memory saved of a GPU, {plan[10]} tiers", f"{saved['value']:.1f} GiB", f"{saved['predicted']:.2f} GiB", "A",
                        "the simulated peak counts a third copy of what is received ([why](flexshard.md#memory-of-a-plan)); the paper's model says 0"))
    return rows


def flexshard_figure1(runs):
    cases = runs.cases("scenarios/flexshard_figure1.yaml")
    weights = 30_000_000 * 256 * 4 / 32

    def gigabytes(name):
        return (cases[name]["memory"]["per_rank_bytes"][0] - weights) / 1e9

    theirs = [2 * 4096 * items * 256 * 4 / 1e9 for items in (500, 1000, 2000)]
    return [row("Figure 1, memory of a history of 500, 1,000, 2,000 items, GB a GPU", numbers(theirs, 2),
                numbers((gigabytes(f"history/{items}") for items in (500, 1000, 2000)), 2), "B",
                "the paper prints a curve; its numbers follow from 2 B l D s"),
            row("Figure 1, what it sends in one direction, GB", numbers((value / 2 for value in theirs), 2),
                numbers((collective(cases[f"history/{items}"], "global_all_to_all", "bytes_per_rank") / 2e9
                         for items in (500, 1000, 2000)), 2), "B", "likewise, B l D s"),
            row("Figure 1, memory of one pooled table of the same width, GB", f"{(32 + 1) * 4096 * 256 * 4 / 1e9:.3f}",
                f"{gigabytes('pooled/1'):.3f}", "B", "partial sums of all GPUs' samples and the output; which of them the figure plots is not said")]


def dedup_rows(runs):
    """Iterations row-wise and in three tiers, with every occurrence of an id exchanged and with each id once."""
    times = [{name: case["iteration_ms"] for name, case in runs.cases("scenarios/flexshard.yaml", *options).items()}
             for options in ((), ("--set", "workload.index_dedup=true"))]
    rows = []
    for model in MODELS:
        (row_wise, tiered), (row_wise_once, tiered_once) = ((found[f"{model}/row_wise"], found[f"{model}/flexshard_3tier"]) for found in times)
        rows.append(row(model, numbers([row_wise]), numbers([tiered]), numbers([row_wise / tiered], 2), numbers([row_wise_once]), numbers([tiered_once]),
                        numbers([min(row_wise, row_wise_once) / min(tiered, tiered_once)], 2)))
    return rows


def flexshard_bands(band):
    """One row for each figure of the band: its least and most of every model."""
    by_figure = {}
    for entry in band:
        _, tiers, figure = entry["what"].split(", ")
        by_figure.setdefault((tiers, figure), []).append(entry)
    return [row(f"{figure}, {tiers}: other row distributions through the numbers of Table 5, RM-1 to RM-4", ", ".join(entry["published"] for entry in entries),
                ", ".join(f"{entry['least']} to {entry['most']}" for entry in entries), "C",
                "with the fitted knots " + ", ".join(entry["fitted"] for entry in entries) + f"; {entries[0]['laws']} laws a model, whose plans have the rows of Table 5 "
                f"within {max(float(entry['off']) for entry in entries)} %") for (tiers, figure), entries in by_figure.items()]


def flexshard(runs):
    cases = runs.cases("scenarios/flexshard.yaml")
    rows = flexshard_figure1(runs) + flexshard_curves(cases) + flexshard_plans(cases) + flexshard_sizes(cases) + flexshard_times(cases) + flexshard_reductions(cases)
    rows += flexshard_latencies(cases) + flexshard_observed_latencies(cases) + flexshard_whole(cases)
    return rows + flexshard_bands(read_csv("flexshard_band.csv"))


def read_csv(name):
    path = PAGE.parent / "papers" / name
    if not path.is_file():
        return []
    with path.open() as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def shipped_rows(name, command):
    return [row(entry["what"], entry["published"], entry["ours"], command, entry["why"]) for entry in read_csv(name)]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


POLICIES = [f"{{name: {planner}, policy: scenarios/policies/{planner}_tasks.h5}}" for planner in ("autoshard", "dreamshard")]
SIZES = [("80", "8"), ("160", "16"), ("320", "32"), ("640", "64")]  # tables, GPUs


def over_greedy(runs, planner):
    """The iteration of the planner over that of greedy by cost, for each of SIZES."""
    planners = "[" + ", ".join(POLICIES) + ", {name: greedy, score: cost}]"
    found = []
    for tables, gpus in SIZES:
        cases = runs.result(runs.drawn_task(tables, gpus), "--set", f"planners={planners}")["cases"]
        times = {case["name"].split("/")[-1]: case["iteration_ms"] for case in cases}
        found.append(times[planner] / times["greedy"])
    return found


def planner_means(runs):
    """Planner: mean iteration in ms over the ten tasks that autoshard_tasks.yaml holds back; the result."""
    planners = ("[" + ", ".join(POLICIES) + ", "
                "{name: greedy, score: cost, label: cost}, {name: greedy, score: lookup, label: lookup}, {name: greedy, score: size_lookup, label: size_lookup}, "
                "{name: greedy, score: dim, label: dim}, {name: greedy, score: size, label: size}, "
                "{name: random, label: random, sharding_types: [table_wise]}, {name: neuroshard}]")
    result = runs.result("scenarios/autoshard_tasks.yaml", "--case", "test/*", "--set", f"planners={planners}")
    means = {}
    for case in result["cases"]:
        means.setdefault(case["name"].split("/")[-1], []).append(case["iteration_ms"])
    return {planner: mean(values) for planner, values in means.items()}, result


# Options of autoshard_ablation.sh: what the page calls them, and why they differ.
ABLATIONS = {
    "full": ("full", "other tables, other costs"),
    "cost_model": ("without the cost model", "no cost is predicted, tables come in their order; what the paper leaves out is not said in detail"),
    "dim": ("without dim", "half of our tables have 16 columns, half 32: without dim they look alike"),
    "row": ("without hash size", "rows say little that pooling factors and bins do not"),
    "pooling_factor": ("without pooling factor", "the largest loss in both"),
    "size": ("without size", "size is rows times columns: it can be told from the others"),
    "bins": ("without distribution bins", "bins matter less to our costs"),
}


def monitored(runs):
    """The day on which the drift monitor of section 5 says to train again."""
    monitor = "monitor: {policy: scenarios/policies/autoshard_tasks.h5, threshold: \"1 %\"}"
    out = runs.folder / "drift"
    runs.execute("drift", "scenarios/autoshard_tasks.yaml", "--case", "test/0", "--set", "planner={name: greedy, score: lookup}",
                 "--set", f"drift={{days: 15, growth: \"3 %/day\", {monitor}}}", "-o", out, "-q")
    found = json.loads((out / "drift.json").read_text())
    errors = {day["day"]: day["cost_error_pct"] for day in found["days"]}
    return row("Section 5, train again when the cost model is off by more than a threshold: the day, with growth of 3 % a day and a threshold of 1 %", "described, no number",
               f"day {found['train_again_day']} of 15", "N", f"error {errors[0]:.1f} % of a shard on day 0, {errors[15]:.1f} % on day 15")


def autoshard(runs):
    means, result = planner_means(runs)
    plans = [plan for comparison in result["planner_comparisons"] for plan in comparison["planners"] if plan["planner"] == "autoshard"]
    balance = 100 * mean(figure["balance"] for figure in (plan["figures"] for plan in plans))
    rows = [row("Degree of balance, 80 tables on 8 GPUs, %", "88.6 +- 1.2", f"{balance:.1f}", "D",
                "other tables, other costs; the shipped policy on the ten tasks held back, in-model"),
            row("Lookup-greedy is the strongest heuristic: iterations by lookup, size-lookup, dim, size, random, ms", "claim",
                numbers((means[name] for name in ("lookup", "size_lookup", "dim", "size", "random")), 2), "D",
                "exchanges count here, so that columns matter as well as lookups")]
    rows.append(row("Figure 11, more tables and GPUs: 80, 160, 320, 640 tables on 8, 16, 32, 64 H100, iteration over that of greedy by cost",
                    "a curve without numbers", numbers(over_greedy(runs, "autoshard"), 2), "G", "the policy learned 80 tables on 8 RTX 2080 Ti; greedy is told the costs of the H100"))
    rows.append(monitored(runs))
    rows += shipped_rows("autoshard_figures.csv", "J")
    ablations = {entry["variant"]: entry for entry in read_csv("autoshard_ablations.csv")}
    for variant, (name, why) in ABLATIONS.items():
        entry = ablations[variant]
        rows.append(row(f"Ablation, {name}: balance %, speed-up over random", entry["published"], entry["ours"], "E",
                        why + ("; one seed, the paper's mean is of five" if variant == "full" and entry["seeds"] == "1" else "")))
    return rows + [
        row("Share of embeddings in an iteration; in the time of the GPU's operators", "31 %, 48 %", "-", "-", "of one production model, which is not published"),
        row("Hundreds of tables are placed in seconds on one core", "claim", "0.7 s", "-", "`shardsim plan` of 640 tables like G's on 64 H100, CPU time of an AMD EPYC, which no test compares; DreamShard 1.0, NeuroShard 1.2, and 2.2 with its own 4 to 128 columns in fp32"),
        row("Figure 8", "no numbers in the text", "-", "-", "of Figures 9 to 11 the text has some, which the rows above repeat"),
        row("Figure 9, time for 150 samples of the policy; for 1,000 plans of random search, s", "454; 9,783 (MetaProd 14,599)", "-", "-", "wall-clock times of their four GPUs, which timed every sample"),
        row("All results on MetaProd", "-", "-", "-", "production tables, which are not published")]


TABLE1_NOTES = {
    "cost": "greedy by the costs that NeuroShard plans with, not in the paper",
    "autoshard": "one policy for all settings, rewarded for even lookups and updates; exchanges, which count here, are no part of its reward",
    "dreamshard": "one policy for all settings",
    "torchrec": "today's planner, free in its types: half of the tables row-wise, some with rows in host memory; the row of whole tables and columns says what that costs",
}


def ours_of(entry):
    return entry["ours"] + (f" ({entry['tasks']})" if entry["tasks"] != entry["all"] else "")


def neuroshard_rows(name, label):
    by_method = {}
    for entry in read_csv(name):
        by_method.setdefault((entry["gpus"], entry["method"]), []).append(entry)
    for (gpus, method), entries in by_method.items():
        if method == "neuroshard":
            continue  # 1 everywhere
        ours = map(ours_of, entries)
        dims = ", ".join(entry["dim"] for entry in entries)
        yield row(f"Table 1, {method}, {gpus} GPUs, dims up to {dims}{label[0]}", ", ".join(entry["published"] for entry in entries), ", ".join(ours),
                  label[1], TABLE1_NOTES.get(method, "other tables, other costs"))


METHODS = {"random": "random", "size": "size greedy", "dim": "dim greedy", "lookup": "lookup greedy", "size_lookup": "size-lookup greedy", "cost": "greedy by cost"}


def table1_rows(runs):
    """Table 1 of docs/planners.md: the methods without a policy, a column for each setting."""
    del runs
    found = {}
    for entry in read_csv("neuroshard_table1.csv"):
        found.setdefault(entry["method"], []).append(ours_of(entry))
    return [row(label, *found[method]) for method, label in METHODS.items() if method in found]


def neuroshard_over_best(name):
    """How much longer than NeuroShard the best of the four greedy heuristics takes, in %, by setting."""
    best = {}
    for entry in read_csv(name):
        if entry["method"] in HEURISTICS and entry["ours"] != "-":
            setting = f"{entry['gpus']} GPUs, dims up to {entry['dim']}"
            best[setting] = min(best.get(setting, 1e9), float(entry["ours"]))
    return {setting: 100 * (ratio - 1) for setting, ratio in best.items()}


def planned_by(name):
    """By which costs NeuroShard planned, where nets of the GPU's kernels exist."""
    found = re.search(r"^# NeuroShard planned (\d+) of (\d+) tasks by the laws", (PAGE.parent / "papers" / name).read_text(), re.MULTILINE)
    if not found:
        return ""
    laws, tasks = map(int, found.groups())
    return (f"; plans are judged by the laws of fbgemm's kernels; NeuroShard makes {tasks - laws} of {tasks} by the pre-trained nets, and {laws} by the laws, where these and the nets "
            "are too far apart on a table")


def dreamshard_over_autoshard(name):
    """The quotient of their mean iterations in those settings of Table 1 of which both solve all tasks."""
    by_setting = {}
    for entry in read_csv(name):
        if entry["tasks"] == entry["all"]:
            by_setting.setdefault(f"{entry['gpus']}x{entry['dim']}", {})[entry["method"]] = float(entry["mean_ms"])
    return {setting: found["dreamshard"] / found["autoshard"] for setting, found in by_setting.items() if {"dreamshard", "autoshard"} <= set(found)}


def beyond_three_percent(quotients):
    longer = [f"{100 * (quotient - 1):.1f} % on {name}" for name, quotient in quotients.items() if quotient > 1.03]
    return "longer by more than 3 %: " + ", ".join(longer) if longer else "within 3 % or shorter everywhere"


def pool_statistics():
    """Tables, mean rows and mean pooling factor of the shipped pool."""
    text = (SOURCE / "scenarios" / "workloads" / "metasyn_856.yaml").read_text()
    tables = re.findall(r"\{name: t\d+, rows: (\d+), .*?pooling_factor: ([\d.e-]+)", text)
    return f"{len(tables)}, {mean(int(rows) for rows, _ in tables):,.0f}, {mean(float(factor) for _, factor in tables):.1f}"


def artifact(runs):
    """The cost that NeuroShard expects of its plans beside that by simulation, as the paper's artifact prints them."""
    scenario = runs.folder / "artifact.yaml"
    runs.execute("workload", "sample", "tasks", "metasyn_856", "--tasks", "20", "--gpus", "4", "--min-tables", "10", "--max-tables", "59", "--max-dim", "128",
                 "--max-bytes", "15 GiB", "-o", scenario)
    result = runs.result(scenario, "--set", "planners=[{name: neuroshard}, {name: greedy, score: size_lookup}]")
    plans = [[plan for plan in comparison["planners"] if plan["solved"]] for comparison in result["planner_comparisons"]]
    expected = [(plan["figures"]["cost_ms"], plan["iteration_ms"]) for task in plans for plan in task if plan["planner"] == "neuroshard"]
    cost, simulated = (mean(pair[at] for pair in expected) for at in (0, 1))
    greedy = sum(plan["planner"] == "greedy" for task in plans for plan in task)
    return row("Artifact, 4 GPUs, dims up to 128: NeuroShard's predicted and real cost, ms; tasks solved by it and by size-lookup, %", "39.04, 39.99 (-2.4 %); 100, 94",
               f"{cost:.2f}, {simulated:.2f} ({100 * (cost / simulated - 1):+.1f} %); {100 * len(expected) / len(plans):.0f}, {100 * greedy / len(plans):.0f}", "O",
               "real: by simulation, in which exchanges share PCIe and vectors are copied around them; the cost leaves both out, theirs learned it from measured exchanges")


def neuroshard(runs):
    rows = list(neuroshard_rows("neuroshard_table1.csv", ("", "F")))
    rows += neuroshard_rows("neuroshard_h100.csv", (", 4 GiB of H100", "H"))
    for name, where, command in (("neuroshard_table1.csv", "", "F"), ("neuroshard_h100.csv", ", with the kernels measured on an H100", "H")):
        found = {setting: gain for setting, gain in neuroshard_over_best(name).items() if setting.endswith((" 64", " 128"))}
        if found:
            rows.append(row(f"Best of the four heuristics over NeuroShard, {'; '.join(found)}{where}, %", "23, -, 24, -", numbers(found.values(), 0),
                            command, "over the tasks that both solve" + planned_by(name)))
    limited = [entry for entry in read_csv("neuroshard_torchrec.csv") if entry["method"] == "torchrec"]
    for gpus in ("4", "8"):
        entries = [entry for entry in limited if entry["gpus"] == gpus]
        rows.append(row(f"Table 1, torchrec of whole tables and columns in the GPU's memory, {gpus} GPUs, dims up to {', '.join(entry['dim'] for entry in entries)}",
                        ", ".join(entry["published"] for entry in entries), ", ".join(ours_of(entry) for entry in entries), "M",
                        "no rows are cut, none lie in host memory, and no memory is reserved; free, TorchRec's planner keeps 15 % and more for the rest of a model, which these tasks do not have"))
    rows.append(artifact(runs))
    figures = shipped_rows("neuroshard_figures.csv", "K")
    learned = next(entry for entry in read_csv("neuroshard_figures.csv") if entry["what"].startswith("Figure 8, mean square"))
    return rows + figures + [
        row("Test errors of computation, 4, 8 and 128 GPUs, ms2", "0.21, 0.21, 0.26", learned["ours"].split("; ")[-1], "K",
            "forward and backward apart, of 10,000 shards (theirs: 100,000) in closed form, which holds no noise; one net for all numbers of GPUs"),
        row("Tables 3 and 7, time of the full search, s", "10.75, 20.79", "-", "-", "a wall-clock time of their machine, most of it predictions in a GPU framework; a task of O, simulation included, takes less than 0.1 s of a CPU here"),
        row("Table 4, nearly 1,000 tables on 128 GPUs: over random, throughput by AutoShard, DreamShard, TorchRec, NeuroShard", "+32.4, +45.3, +34.6, +54.9 %", "-", "-",
            "a production model, which is not published"),
        row("Table 6, tables, mean rows, mean pooling factor of the DLRM data set", "856, 4,107,458, 15", pool_statistics(), "arithmetic",
            "`metasyn_856` was drawn to have them; Criteo, Avazu and KDD, which the table sets beside it, have 10 to 26 tables with one lookup each"),
        row("Collecting costs and training for production, hours", "about 1, on 128 GPUs", "-", "-", "a wall-clock time of their machine")]


def own_tasks():
    """DreamShard on tasks of 20 to 100 tables and 2 to 8 GPUs."""
    by_size = {}
    for entry in read_csv("dreamshard_tasks.csv"):
        by_size.setdefault(f"{entry['tables']}x{entry['gpus']}", {})[entry["planner"]] = float(entry["mean_ms"])

    def over(planner, other):
        return {size: found[planner] / found[other] for size, found in by_size.items()}

    best, best_of_paper = ([100 * (min(found[name] for name in HEURISTICS) / found[planner] - 1) for found in by_size.values()] for planner in ("dreamshard", "dreamshard_paper"))
    sizes = f"its own tasks of {', '.join(by_size)} (tables x GPUs)"
    policies = "the shipped policies, which learned other tasks (80 tables of 16 or 32 columns on 8 GPUs)"
    to_autoshard, paper_to_autoshard = over("dreamshard", "autoshard"), over("dreamshard_paper", "autoshard")
    return [row(f"Faster than the best heuristic, {sizes}, %", "up to 19", numbers(best), "L", f"10 tasks each; {policies}; the more tables a GPU holds, the nearer every heuristic comes"),
            row("The same where the policy's highest scores are the plan, as in the paper (`samples: 0`), %", "up to 19", numbers(best_of_paper), "L", "drawn placements, of which the best are measured, are ours"),
            row(f"Mean iteration over AutoShard's, {sizes}", "-", numbers(to_autoshard.values(), 3), "L", beyond_three_percent(to_autoshard)),
            row("The same with `samples: 0`", "-", numbers(paper_to_autoshard.values(), 3), "L", beyond_three_percent(paper_to_autoshard))]


def dreamshard(runs):
    means, _ = planner_means(runs)
    best = min(means[name] for name in HEURISTICS)
    rows = [row("Faster than the best heuristic by", "up to 19 % (its abstract)", f"{100 * (best / means['dreamshard'] - 1):.1f} %", "D",
                "80 tables of 16 or 32 columns on 8 GPUs, mean iteration by simulation"),
            row("Mean iteration, DreamShard, AutoShard, greedy by cost, NeuroShard, ms", "-",
                numbers((means[name] for name in ("dreamshard", "autoshard", "cost", "neuroshard")), 2), "D",
                "whole tables but for NeuroShard, which cuts columns")]
    rows += own_tasks()
    for name, where, command in (("neuroshard_table1.csv", "", "F"), ("neuroshard_h100.csv", ", with the kernels measured on an H100", "H")):
        quotients = dreamshard_over_autoshard(name)
        rows.append(row(f"NeuroShard's tasks, {', '.join(quotients)} (GPUs x dims up to), mean iteration over AutoShard's{where}", "-",
                        numbers(quotients.values(), 3), command, "settings of which both solve all tasks; " + beyond_three_percent(quotients)))
    mine, autoshards = over_greedy(runs, "dreamshard"), over_greedy(runs, "autoshard")
    rows.append(row("Other sizes without training: 80, 160, 320, 640 tables on 8, 16, 32, 64 H100, iteration over that of greedy by cost", "claim",
                    numbers(mine, 2), "G", "the policy learned 80 tables on 8 RTX 2080 Ti, whose costs are others: tables, GPUs and machine differ at once"))
    over = {f"{tables} tables": a / b for (tables, _), a, b in zip(SIZES, mine, autoshards)}
    rows.append(row("The same over that of AutoShard, whose policy learned from the same tasks", "-", numbers(over.values(), 3), "G", beyond_three_percent(over)))
    return rows


SECTIONS = {"flexshard": flexshard, "flexshard_gain": gain_rows, "flexshard_dedup": dedup_rows, "autoshard": autoshard, "neuroshard": neuroshard,
            "neuroshard_table1": table1_rows, "dreamshard": dreamshard}


def entries_of(rows):
    """Rows of a table of the page, as those of a CSV."""
    return [dict(zip(("what", "published", "ours", "command", "why"), (cell.strip() for cell in line.strip("| ").split(" | ")))) for line in rows]


def charts(runs):
    """{file: SVG} of the figures that are curves or bars."""
    found = {PAGE.parent / "papers" / file: svg for file, svg in paper_charts.flexshard_charts(entries_of(flexshard(runs)), read_csv("flexshard_band.csv"))}
    for name, draw in (("autoshard_figures.csv", paper_charts.autoshard_charts), ("neuroshard_figures.csv", paper_charts.neuroshard_charts)):
        found.update({PAGE.parent / "papers" / file: svg for file, svg in draw(read_csv(name))})
    return found


def page_of(section):
    return PAGE.with_name(OTHER_PAGES.get(section, PAGE.name))


def with_rows(text, section, rows):
    begin = f"<!-- rows: {section} -->\n"
    head, rest = text.split(begin)
    return head + begin + rest[:0] + "\n".join(rows) + "\n" + rest[rest.index("<!-- end -->"):]


def main(arguments):
    flags = [word for word in arguments if word.startswith("-")]
    words = [word for word in arguments if not word.startswith("-")]
    if not words or set(flags) - {"--update", "--check"} or set(words[1:]) - set(SECTIONS):
        print(__doc__, file=sys.stderr)
        return 2
    old = {path: path.read_text() for path in map(page_of, SECTIONS)}
    new = dict(old)
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(words[0], folder)
        for section in words[1:] or SECTIONS:
            rows = SECTIONS[section](runs)
            if not flags:
                print("\n".join(rows))
            new[page_of(section)] = with_rows(new[page_of(section)], section, rows)
        drawn = charts(runs) if flags else {}
    if "--update" in flags:
        for path, content in {**new, **drawn}.items():
            path.write_text(content)
    if "--check" in flags:
        for path, svg in drawn.items():
            if not path.is_file() or path.read_text() != svg:
                print(f"{path} is not what scripts/paper_charts.py draws")
                return 1
        differing = [path for path in new if new[path] != old[path]]
        for path in differing:
            print("\n".join(difflib.unified_diff(old[path].split("\n"), new[path].split("\n"), f"docs/{path.name}", "as the commands give it", lineterm="")))
        if differing:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
