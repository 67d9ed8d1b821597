#!/usr/bin/env python3
"""Holds predictions to the bounds that docs/accuracy.md states. Usage: accuracy_bounds.py DOCUMENT RESULT.json

The table under "Bounds" has a row per set of published iterations: a pattern of case names, the largest median of the errors'
sizes and the largest single one, in percent. Every published iteration that is not fitted as a whole must belong to exactly one
set. Exits 1 with a line for each bound that is broken, and for each iteration without a set.
"""
import json
import re
import statistics
import sys

ROW = re.compile(r"\| [^|]+ \| `(?P<cases>[^`]+)` \| (?P<median>[\d.]+) \| (?P<worst>[\d.]+) \|$")


def bounds(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    section = text.split("\n### Bounds\n", 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]
    rows = [ROW.match(line) for line in section.splitlines()]
    # An "or" of the pattern is written as in Markdown's tables.
    return [(re.compile(row["cases"].replace("\\|", "|")), float(row["median"]), float(row["worst"])) for row in rows if row]


def errors(path):
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    return {case["name"]: abs(row["error_pct"]) for case in cases for row in case["published"]
            if row["quantity"] == "iteration" and row["role"] != "fitted"}


def complaints(sets, sizes):
    for name in sizes:
        owners = sum(pattern.match(name) is not None for pattern, _, _ in sets)
        if owners != 1:
            yield f"{name} belongs to {owners} sets of bounds"
    for pattern, median, worst in sets:
        own = [size for name, size in sizes.items() if pattern.match(name)]
        if not own:
            yield f"no iteration is of {pattern.pattern}"
        elif statistics.median(own) > median or max(own) > worst:
            yield (f"{pattern.pattern}: median {statistics.median(own):.2f} % (at most {median}), "
                   f"worst {max(own):.2f} % (at most {worst})")


if __name__ == "__main__":
    stated = bounds(sys.argv[1])
    broken = list(complaints(stated, errors(sys.argv[2])))
    if len(stated) < 8:
        broken.append(f"only {len(stated)} sets have bounds")
    print("\n".join(broken))
    sys.exit(1 if broken else 0)
