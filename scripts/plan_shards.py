#!/usr/bin/env python3
"""The shards of plans of tasks, to be timed, and how the plans do by those times (scripts/learning_pays.sh).

plan_shards.py collect LABELS PLANS SHARDS   writes the shards of all plans, each once, with the pool of LABELS
plan_shards.py judge LABELS PLANS            lays the plans of each task side by side

PLANS is a folder of files TASK_SCORE.json; a table is called tNUMBER by its number in the pool, tNUMBER.K when a task has it
several times."""

import json
import pathlib
import statistics
import sys


def shards_of(path):
    """One text "TABLE:COLUMNS ..." per device that holds anything, tables in order."""
    devices = {}
    for tables in json.loads(path.read_text())["plan"].values():
        for name, entry in tables.items():
            number = int(name[1:].split(".")[0])
            for shard in entry["shards"]:
                rank = shard["placement"].split(":")[1].split("/")[0]
                devices.setdefault(rank, []).append((number, shard["shard_sizes"][1]))
    return [" ".join(f"{table}:{columns}" for table, columns in sorted(pieces)) for pieces in devices.values()]


def plans_by_task(folder):
    """{task: {score: shards}}, of the tasks that every score has a plan for."""
    tasks = {}
    for path in sorted(pathlib.Path(folder).glob("*_*.json")):
        task, score = path.stem.split("_", 1)
        tasks.setdefault(int(task), {})[score] = shards_of(path)
    scores = {score for plans in tasks.values() for score in plans}
    return {task: tasks[task] for task in sorted(tasks) if set(tasks[task]) == scores}


def collect(labels, folder, target):
    pool = json.loads(pathlib.Path(labels).read_text())
    for key in ("provider", "device", "forward_us", "backward_us"):
        pool.pop(key, None)
    shards = {shard for plans in plans_by_task(folder).values() for plan in plans.values() for shard in plan}
    pool["shards"] = sorted(shards)
    pathlib.Path(target).write_text(json.dumps(pool, indent=1))


def told(gain):
    return f"{abs(gain):.1f} % {'shorter' if gain >= 0 else 'longer'}"


def judge(labels, folder):
    measured = json.loads(pathlib.Path(labels).read_text())
    times = {
        shard: (forward + backward) / 1000
        for shard, forward, backward in zip(measured["shards"], measured["forward_us"], measured["backward_us"])
    }
    tasks = plans_by_task(folder)
    slowest = {
        task: {score: max(times[shard] for shard in plan) for score, plan in plans.items()} for task, plans in tasks.items()
    }
    scores = sorted(next(iter(slowest.values())))
    means = {score: statistics.mean(plans[score] for plans in slowest.values()) for score in scores}
    print(f"{len(slowest)} tasks, {len(times)} shards timed on {measured['device']}")
    print(f"  {'greedy by':14s} mean ms  shortest of all")
    for score in sorted(scores, key=means.get):
        wins = sum(plans[score] <= min(plans.values()) for plans in slowest.values())
        print(f"  {score:14s} {means[score]:7.1f}  {wins} of {len(slowest)}")
    best = min((score for score in scores if score != "cost"), key=means.get)
    gain = 100 * (1 - means["cost"] / means[best])
    ratios = [plans["cost"] / min(time for score, time in plans.items() if score != "cost") for plans in slowest.values()]
    print(f"by cost: {told(gain)} than by {best}, the best of the heuristics on average;")
    print(f"{told(100 * (1 - statistics.geometric_mean(ratios)))} than the best heuristic of each task (geometric mean)")


if __name__ == "__main__":
    actions = {"collect": (collect, 3), "judge": (judge, 2)}
    action, wanted = actions.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, -1))
    if action is None or len(sys.argv) - 2 != wanted:
        sys.exit(__doc__)
    action(*sys.argv[2:])
