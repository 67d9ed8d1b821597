#!/usr/bin/env python3
"""Shows what RM-1's gain in three tiers depends on: the paper prints +81 %, the simulation of the planned payload gives more.

Usage: flexshard_gain.py SHARDSIM

Varies, each within what the paper prints: the order of kernels, how the rest of the iteration is split, how long that rest is, and how an
exchange's time is divided into start and rate. Splits, rests and starts are simulated (`shardsim run --set`). Orders are
laid out from the Program of `shardsim lower` by the few rules of this file: every stream in order, exchanges of one network card at equal shares. In the
order of the simulator these rules must give the simulated iteration to half a millisecond, or the script ends with 1.
Prints one line for each variant: the gains over row-wise in two and three tiers. Takes five seconds of a CPU.
"""

import json
import pathlib
import sys
import tempfile

from shardsim_command import execute

SCENARIO = "scenarios/flexshard.yaml"
PLANS = ("row_wise", "flexshard_2tier", "flexshard_3tier")
CROSS_NODES = ("global_all_to_all", "global_all_reduce", "cross_node_all_reduce")  # these share the network cards
TOLERANCE_MS = 0.5

# FlexShard, Table 6, RM-1: ms of an iteration, both directions of an all-to-all in one.
PRINTED = {"row_wise": {"global_all_to_all": 307}, "flexshard_2tier": {"global_all_to_all": 149, "global_all_reduce": 3},
           "flexshard_3tier": {"global_all_to_all": 99, "intra_node_all_to_all": 30, "global_all_reduce": 3, "cross_node_all_reduce": 14}}

SPLIT = "workload.dense.measured.split"
REST = "workload.dense.measured.rest.value"
STARTS = "cluster.overheads.all_to_all.across_nodes"
PARTS = ("id_exchange", "lookup", "dense_forward", "dense_backward", "update")


def split(*milliseconds):
    return [f"{SPLIT}.{part}.time={value} ms" for part, value in zip(PARTS, milliseconds)]


def exchange_fit(start_ms, efficiency):
    return [f"{STARTS}.start={start_ms} ms", f"{STARTS}.nic_efficiency={efficiency}"]


# (what is varied, settings). Every split adds up to the rest.
SIMULATED = (
    ("as simulated", []),
    ("split of the 102 ms: no lookups, no updates", split(1.23, 0, 33.59, 67.18, 0)),
    ("split of the 102 ms: lookups and updates twice as long", split(1.23, 12, 20.92, 41.85, 26)),
    ("split of the 102 ms: half of it updates", split(1.23, 6, 14.59, 29.18, 51)),
    ("split of the 102 ms: half of it lookups", split(1.23, 51, 12.26, 24.51, 13)),
    ("rest of 100.0 ms, for +61.5 %", [f"{REST}=100.0 ms", *split(1.23, 6, 26.59, 53.18, 13)]),
    ("rest of 104.2 ms, for +60.5 %", [f"{REST}=104.2 ms", *split(1.23, 6, 27.99, 55.98, 13)]),
    ("exchanges fitted to RM-1 row-wise and three tiers: 3.615 ms + 19.46 GB/s", exchange_fit(3.615, 0.7784)),
    ("exchanges without a start, fitted to RM-1 row-wise: 19.01 GB/s", exchange_fit(0, 0.7602)),
)


def simulated(program, settings):
    """Cases of RM-1 by plan."""
    with tempfile.TemporaryDirectory() as folder:
        sets = [word for setting in settings for word in ("--set", setting)]
        execute(program, "run", SCENARIO, "--case", "rm1/*", "-o", folder + "/out", "-q", *sets)
        cases = json.loads(pathlib.Path(folder, "out", "result.json").read_text())["cases"]
    return {case["name"].split("/")[1]: case for case in cases}


def collective_ms(case):
    """Milliseconds of one call, by name."""
    return {entry["name"]: entry["total_ms"] / entry["calls"] for entry in case["collectives"]}


class Layout:
    """One iteration of a Program, laid out in time."""

    def __init__(self, ops, times, starts):
        self.ops, self.left = ops, {}
        for op in ops:
            start = starts.get(op["name"], 0) if op["name"] in times else 0
            self.left[op["id"]] = [start, times[op["name"]] - start] if op["name"] in times else [op.get("fixed_ns", 0) / 1e6, 0]

    def ready(self, op, done, running):
        ahead = [other for other in self.ops[:self.ops.index(op)] if other["stream"] == op["stream"] and other["id"] not in done]
        return op["id"] not in done and op["id"] not in running and not ahead and set(op["after"]) <= done

    def length(self):
        now, done, running = 0.0, set(), {}
        while len(done) < len(self.ops):
            for op in self.ops:
                if self.ready(op, done, running):
                    running[op["id"]] = op
            sharing = [key for key, op in running.items() if op["name"] in CROSS_NODES and self.left[key][0] <= 1e-9]
            rate = {key: 1 / len(sharing) if key in sharing else 1 for key in running}
            step = min(self.left[key][0] if self.left[key][0] > 1e-9 else self.left[key][1] / rate[key] for key in running)
            now += step
            for key in list(running):
                part = 0 if self.left[key][0] > 1e-9 else 1
                self.left[key][part] -= step * rate[key]
                if self.left[key][0] <= 1e-9 and self.left[key][1] <= 1e-9:
                    done.add(key)
                    del running[key]
        return now


def flex_first(ops):
    """Gradients of replicated rows come before the update of row-wise ones, so that their all-reduce runs beside the exchange."""
    late = [op for op in ops if op["name"] == "update_row_wise"]
    return [op for op in ops if op not in late and not op["name"].startswith("apply")] + late + [op for op in ops if op["name"].startswith("apply")]


def one_stream(ops, names, forward=True, backward=True):
    """These exchanges run one after the other, in the order in which they are launched."""
    turn = next((index for index, op in enumerate(ops) if op["name"] == "dense_forward"), len(ops))
    return [{**op, "stream": "one"} if op["name"] in names and (forward if index < turn else backward) else op for index, op in enumerate(ops)]


ALL_TO_ALLS = ("global_all_to_all", "intra_node_all_to_all")
ORDERS = (
    ("as simulated", lambda ops: ops),
    ("gradients of replicated rows before the update of row-wise ones", flex_first),
    ("forward, the exchange in the node before the one across nodes", lambda ops: one_stream(ops, ALL_TO_ALLS, backward=False)),
    ("backward, the exchange across nodes before the one in the node", lambda ops: one_stream(ops, ALL_TO_ALLS, forward=False)),
    ("both exchanges one after the other in both passes", lambda ops: one_stream(ops, ALL_TO_ALLS)),
    ("all exchanges and all-reduces on one stream", lambda ops: one_stream(ops, ALL_TO_ALLS + ("global_all_reduce", "cross_node_all_reduce"))),
)


class Orders:
    """RM-1's Programs, and the times of their collectives: simulated, and as the paper prints them."""

    def __init__(self, program, base):
        self.ops = {plan: json.loads(execute(program, "lower", SCENARIO, "--case", f"rm1/{plan}"))["ops"] for plan in PLANS}
        self.times = {plan: collective_ms(base[plan]) for plan in PLANS}
        without = simulated(program, [f"cluster.overheads.{kind}.across_nodes.start=0 s" for kind in ("all_to_all", "all_reduce")])
        self.starts = {plan: {name: time - collective_ms(without[plan])[name] for name, time in self.times[plan].items() if name in CROSS_NODES}
                       for plan in PLANS}

    def length(self, plan, order, printed=False):
        times = dict(self.times[plan])
        if printed:
            for name, total in PRINTED[plan].items():
                times[name] = total / sum(op["name"] == name for op in self.ops[plan])
        return Layout(order(self.ops[plan]), times, self.starts[plan]).length()

    def gains(self, order, printed=False):
        whole = self.length("row_wise", order, printed)
        return tuple(whole / self.length(plan, order, printed) for plan in PLANS[1:])


def check_layout(orders, base):
    for plan in PLANS:
        laid_out, simulated_ms = orders.length(plan, ORDERS[0][1]), base[plan]["iteration_ms"]
        if abs(laid_out - simulated_ms) > TOLERANCE_MS:
            sys.exit(f"flexshard_gain.py: {plan} is laid out in {laid_out:.2f} ms and simulated in {simulated_ms:.2f}: the rules of this file are not those "
                     "of the simulator any more")


def gains_of(cases, key):
    return tuple(cases["row_wise"][key] / cases[plan][key] for plan in PLANS[1:])


def variants(program):
    """(what is varied, how, gains of the planned payload, gains of the other times), gains being those of two and of three tiers."""
    base = None
    for name, settings in SIMULATED:
        cases = simulated(program, settings)
        base = base or cases
        yield ("simulated", name, gains_of(cases, "iteration_ms"), gains_of(cases, "iteration_ms_at_observed_payload"))
    orders = Orders(program, base)
    check_layout(orders, base)
    for name, order in ORDERS:
        yield ("order", name, orders.gains(order), orders.gains(order, printed=True))


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    for kind, name, planned, other in variants(pathlib.Path(arguments[0]).resolve()):
        label = "at the observed payload" if kind == "simulated" else "with the printed times"
        print(f"{name}: {planned[0]:.2f}, {planned[1]:.2f}; {label} {other[0]:.2f}, {other[1]:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
