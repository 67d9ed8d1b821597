#!/usr/bin/env python3
"""The result of a large world, read as docs/formats/result.md says: its size, and what its lists by rank add up to.

Usage: check_large_result.py SHARDSIM SOURCE_DIR
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

NODES, RANKS = 512, 4096

shardsim, source = sys.argv[1], Path(sys.argv[2])
page = (source / "docs/formats/result.md").read_text()
exec(re.search(r"```python\n(def ranks_of.*?)```", page, re.S).group(1))  # ranks_of, by_rank
failures = 0


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print(f"FAILED: {what}")


def shardsim_says(*arguments):
    environment = {**os.environ, "SHARDSIM_DATA": str(source)}
    return subprocess.run([shardsim, *arguments], check=True, capture_output=True, text=True, env=environment).stdout


with tempfile.TemporaryDirectory() as folder:
    shardsim_says("run", str(source / "scenarios/flexshard.yaml"), "--case", "rm1/flexshard_3tier", "--set",
                  f"cluster.nodes={NODES}", "-q", "-o", folder)
    sizes = {name: (Path(folder) / name).stat().st_size for name in ("result.json", "report.html")}
    result = json.loads((Path(folder) / "result.json").read_text())
    check(shardsim_says("check", f"{folder}/result.json").endswith("1 case: ok\n"), "shardsim check")

check(sizes["result.json"] < 100_000, f"result.json has {sizes['result.json']} bytes; as lists it had 540,000")
check(sizes["report.html"] < 1_000_000, f"report.html has {sizes['report.html']} bytes")
check(result["schema"] == "shardsim.result/2", "the schema of a result with a large case")

case = result["cases"][0]
ranks = sorted(rank for text in case["rank_classes"] for rank in ranks_of(text))
check(ranks == list(range(RANKS)), "every rank is in one class")

loads, memory = case["rank_loads"], case["memory"]
lookups = by_rank(case, loads, "lookups")
tables = [by_rank(case, table, "lookups") for table in loads["tables"]]
check([sum(of_rank) for of_rank in zip(*tables)] == lookups, "the lookups of all tables are those of the rank")
check(lookups.index(max(lookups)) == loads["fullest_rank"], "fullest_rank is the first with most lookups")
check(math.isclose(max(lookups) / (sum(lookups) / RANKS), loads["fullest_times_mean"], rel_tol=1e-12), "fullest_times_mean")
rows = by_rank(case, loads, "distinct_rows")
check(len(rows) == RANKS and all(0 < few <= many for few, many in zip(rows, lookups)), "different rows among the lookups")

check(len(by_rank(case, memory, "per_rank_bytes")) == RANKS, "the memory model's bytes of each rank")
simulated = memory["simulated"]
peaks = by_rank(case, simulated, "per_rank_bytes")
check(len(peaks) == RANKS and peaks.index(max(peaks)) == simulated["rank"], "the rank of the highest mark")
check(peaks[simulated["rank"]] == sum(simulated["parts"].values()), "the parts of the highest mark")

for placement in case["placements"]:
    check(sorted(ranks_of(placement["rank_set"])) == list(range(RANKS)), f"the ranks of a {placement['strategy']} placement")

print("FAILED" if failures else "ok")
sys.exit(1 if failures else 0)
