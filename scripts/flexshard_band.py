#!/usr/bin/env python3
"""How much of FlexShard's Table 6 depends on the shape of the row distributions, of which only six numbers a model are printed.

Usage: flexshard_band.py SHARDSIM [-n LAWS] [-o FILE]

Draws LAWS (12) other monotone distributions for each of RM-1 to RM-4, all through the numbers of Table 5: rows and coverages of both
plans, and that neither takes more memory than row-wise (docs/flexshard.md, "Cost of a row"). Each is a piecewise power law whose
bends, and values at the edges of tiers, are drawn (seed 1); the bends' heights follow from the coverages. Each is planned and simulated as in
scenarios/flexshard.yaml. Prints a CSV, or writes FILE: the least and the most of each figure of Table 6 and of Figure 7, the published
one, and that of the fitted knots. Takes a quarter of a minute of a CPU.
"""

import argparse
import csv
import json
import math
import pathlib
import random
import sys
import tempfile

from shardsim_command import SOURCE, execute

BATCH, GPUS, PER_NODE, MULTIPLIER = 4096, 32, 8, 6
REPLICATED = MULTIPLIER - 1 / GPUS  # row units that a data-parallel row takes more than a row-wise one, activations apart
IN_NODE = MULTIPLIER / PER_NODE - 1 / GPUS

# FlexShard, Table 5: rows of the table; two tiers: data-parallel rows, their coverage %; three: both tiers' rows and coverages %.
TABLE5 = {"rm1": (30_000_000, 346144, 52.5, 100064, 36.8, 1184544, 30.6), "rm2": (30_000_000, 507072, 77.0, 128736, 63.9, 2397216, 21.7),
          "rm3": (10_000_000, 115296, 34.9, 36704, 22.7, 318560, 25.9), "rm4": (10_000_000, 184864, 57.0, 55040, 39.0, 592992, 36.0)}
COLUMNS = ("global_all_to_all", "intra_node_all_to_all", "global_all_reduce", "cross_node_all_reduce")


def power_sum(a, y_a, b, y_b):
    """The sum over ranks a to b of a law that goes from exp(y_a) to exp(y_b) as a power of the rank."""
    slope = (y_a - y_b) / math.log(b / a)
    if abs(slope - 1) < 1e-9:
        return math.exp(y_a) * a * math.log(b / a)
    return math.exp(y_a) * a * ((b / a) ** (1 - slope) - 1) / (1 - slope)


def solved(value, low, high, wanted):
    """Where a rising function takes a value; None where it does not between low and high."""
    if not value(low) <= wanted <= value(high):
        return None
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) < wanted else (low, middle)
    return (low + high) / 2


def bend(rng, a, y_a, b, y_b, wanted):
    """(rank, ln p) of a bend between two edges so that their rows sum up to `wanted`; None where the drawn rank does not allow it."""
    rank = math.exp(rng.uniform(math.log(a * 1.05), math.log(b / 1.05)))
    y = solved(lambda height: power_sum(a, y_a, rank, height) + power_sum(rank, height, b, y_b), y_b, y_a, wanted)
    return None if y is None else (rank, y)


def between(rng, low, high):
    return rng.uniform(math.log(low), math.log(high))


def drawn_law(rng, model):
    """Knots (rank, ln p) of a law through the numbers of one model; None where the draw does not allow one."""
    rows, two, two_share, dp, dp_share, flex, flex_share = TABLE5[model]
    at_dp = (REPLICATED * dp + IN_NODE * flex) / BATCH
    at_two = REPLICATED * two / BATCH
    total = at_two / (two_share / 100)
    at_flex = total * (dp_share + flex_share) / 100
    edge = dp + flex
    y_dp = math.log(REPLICATED / BATCH)
    means = ((at_two - at_dp) / (two - dp), (at_flex - at_two) / (edge - two), (total - at_flex) / (rows - edge))
    y_two, y_edge = between(rng, means[1], means[0]), between(rng, means[2], means[1])
    y_end = between(rng, means[2] / 30, means[2])
    head = math.exp(rng.uniform(math.log(rows * 1e-5), math.log(dp / 3)))
    y_head = solved(lambda y: head * math.exp(y) + power_sum(head, y, dp, y_dp), y_dp, 5, at_dp)
    parts = ((dp, y_dp, two, y_two, at_two - at_dp), (two, y_two, edge, y_edge, at_flex - at_two), (edge, y_edge, rows, y_end, total - at_flex))
    bends = [bend(rng, *part) for part in parts]
    if y_head is None or None in bends:
        return None
    knots = [(head, y_head), (dp, y_dp), bends[0], (two, y_two), bends[1], (edge, y_edge), bends[2], (rows, y_end)]
    steps = [round(rank) for rank, _ in knots]
    return None if any(b <= a for a, b in zip(steps, steps[1:])) else [(round(rank), y) for rank, y in knots]


def laws(rng, model, count):
    found = []
    while len(found) < count:
        law = drawn_law(rng, model)
        if law:
            found.append(law)
    return found


def settings(law):
    """The keys of a case that take this law instead of the fitted one."""
    knots = ", ".join(f"{{rank: {rank}, ln_p: {y:.6f}}}" for rank, y in law)
    return f"    set: {{workload.tables.history.access.knots: [{knots}]}}\n"


def scenario_of(all_laws, folder):
    source = SOURCE / "scenarios"
    text = ["schema: shardsim.scenario/1", "title: other row distributions", f"cluster: {source}/clusters/a100_mesh_4x8.yaml",
            f"workload: {source}/workloads/rm1.yaml", "planner: {name: row_wise}", "compute_model: {name: roofline}",
            "memory_model: {name: paper, dp_static_multiplier: 6, mp_dynamic_copies: 2, dp_dynamic_copies: 1}", "iterations: 4", "seed: 7", "cases:"]
    planners = {"row_wise": "{name: row_wise}", "flexshard_2tier": '{name: flexshard_2tier, memory_budget: "0 B"}',
                "flexshard_3tier": '{name: flexshard_3tier, memory_budget: "0 B", cut: paper, flex_stop: "off"}'}
    for model, found in all_laws.items():
        for number, law in enumerate(found):
            for name, planner in planners.items():
                text += [f"  - name: {model}/{number}/{name}", f"    workload: {source}/workloads/{model}.yaml", f"    planner: {planner}",
                         settings(law).rstrip("\n")]
    path = pathlib.Path(folder) / "laws.yaml"
    path.write_text("\n".join(text) + "\n")
    return path


def simulated(program, scenario, folder):
    out = pathlib.Path(folder) / scenario.stem
    execute(program, "run", scenario, "-o", out, "-q")
    return {case["name"]: case for case in json.loads((out / "result.json").read_text())["cases"]}


def ms(case, name):
    return sum(entry["total_ms"] for entry in case["collectives"] if entry["name"] == name)


def gain(cases, model, plan):
    tiered = cases[f"{model}/{plan}"]
    return ms(cases[f"{model}/row_wise"], "global_all_to_all") / (ms(tiered, "global_all_to_all") + ms(tiered, "global_all_reduce"))


def rows_off(model, cases):
    """The largest deviation in % of a law's plans from the rows of Table 5."""
    _, two, _, dp, _, flex, _ = TABLE5[model]
    worst = 0
    for name, case in cases.items():
        wanted = {"flexshard_2tier": {"data_parallel": two}, "flexshard_3tier": {"data_parallel": dp, "flex": flex}}.get(name.split("/")[-1], {})
        for tier in case["placements"]:
            if tier["strategy"] in wanted:
                worst = max(worst, abs(100 * (tier["rows"] / wanted[tier["strategy"]] - 1)))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shardsim")
    parser.add_argument("-n", type=int, default=12, dest="laws")
    parser.add_argument("-o", dest="file")
    given = parser.parse_args()
    program, rng = pathlib.Path(given.shardsim).resolve(), random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        cases = simulated(program, scenario_of({model: laws(rng, model, given.laws) for model in TABLE5}, folder), folder)
        fitted = simulated(program, SOURCE / "scenarios" / "flexshard.yaml", folder)
    rows = []
    for model in TABLE5:
        mine = {name: case for name, case in cases.items() if name.startswith(model + "/")}
        off = rows_off(model, mine)
        for plan in ("flexshard_2tier", "flexshard_3tier"):
            label = f"{model.replace('rm', 'RM-')}, {plan[10]} tiers"
            for column in COLUMNS:
                values = [ms(mine[f"{model}/{number}/{plan}"], column) for number in range(given.laws)]
                if max(values) > 0:
                    printed = next(entry["value"] for entry in fitted[f"{model}/{plan}"]["published"] if entry["quantity"] == column)
                    rows.append((f"{label}, {column} ms", given.laws, printed, f"{ms(fitted[f'{model}/{plan}'], column):.1f}",
                                 f"{min(values):.1f}", f"{max(values):.1f}", f"{off:.2f}"))
            values = [gain({key.replace(f"{model}/{number}/", f"{model}/"): case for key, case in mine.items() if f"/{number}/" in key}, model, plan)
                      for number in range(given.laws)]
            rows.append((f"{label}, gain of latency (Figure 7)", given.laws, "-", f"{gain(fitted, model, plan):.2f}", f"{min(values):.2f}",
                         f"{max(values):.2f}", f"{off:.2f}"))
    with open(given.file, "w", newline="") if given.file else sys.stdout as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("what", "laws", "published", "fitted", "least", "most", "off"))
        writer.writerows(rows)


if __name__ == "__main__":
    main()
