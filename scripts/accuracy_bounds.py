#!/usr/bin/env python3
"""Holds predictions to the bounds that docs/accuracy.md states.
Usage: accuracy_bounds.py DOCUMENT PUBLISHED.json ONE_GPU.json COLLECTIVES.md CALIBRATED.md STUDY.txt
STUDY.txt: what accuracy.py prints of the study.

The table under "Bounds" has a row per set of iterations: a pattern of case names, the largest median of the errors' sizes and the
largest single one, in percent. Every published iteration and every one on single GPUs that is not fitted as a whole must belong to
exactly one set. The table under "Bounds of collectives" has the largest median and the largest 95th percentile from 1 MiB up, over all
systems, of each kind, and the largest medians of smaller calls ("-" where none was measured). That under "Bounds of memory" has the
largest difference, in GiB, between what a plan takes less than row-wise by the paper and by ours. That under "Systems that may miss theirs" names those whose own bounds, which `shardsim collective compare`
(and its --calibrated) prints, may be missed, and by how many points. Exits 1 with a line for each bound that is broken, for each
iteration without a set, and for each bound of nothing.
"""
import json
import re
import statistics
import sys

CELL = re.compile(r"(?<!\\)\|")  # an "or" of a pattern is written as in Markdown's tables
MISSED = re.compile(r"missed by ([\d.]+)")


def rows(text, columns):
    """The rows of all tables of so many columns, cell by cell, without their heads."""
    cells = [[cell.strip() for cell in CELL.split(line.strip())[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return [row for row in cells if len(row) == columns and not set(row[0]) <= set("-: ")]


def section(text, heading):
    return text.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def bounds(text, columns):
    """The rows whose last two cells are numbers."""
    return [(*row[:-2], float(row[-2]), float(row[-1])) for row in rows(text, columns) if row[-1].replace(".", "").isdigit()]


def errors(path, prefix=""):
    return {prefix + case["name"]: abs(row["error_pct"]) for case in json.loads(read(path))["cases"] for row in case["published"]
            if row["quantity"] == "iteration" and row["role"] != "fitted"}


def of_iterations(stated, sizes):
    sets = [(re.compile(cases.strip("`").replace("\\|", "|")), median, worst) for _, cases, median, worst in stated]
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


def of_collectives(stated, compared):
    figures = {row[0]: row[3:5] + row[6:8] for row in rows(section("\n" + compared, "### Over all systems, each weighing the same"), 9)
               if row[3] != "median %"}
    for kind, *most in stated:
        if kind not in figures:
            yield f"no collectives are {kind}"
            continue
        for what, seen, limit in zip(("median", "p95", "median from 64 KiB", "median below 64 KiB"), figures[kind], most):
            if (seen == "-") != (limit == "-"):
                yield f"{kind}: {what} is {seen}, and its bound {limit}"
            elif seen != "-" and float(seen) > float(limit):
                yield f"{kind}: {what} {seen} % (at most {limit})"


def of_memory(stated, study):
    errors_gib = {row[0]: float(row[3]) for row in rows(study, 4) if re.fullmatch(r"[+-][\d.]+", row[3])}
    for case, most in stated:
        if case not in errors_gib:
            yield f"no memory is published of {case}"
        elif abs(errors_gib[case]) > float(most):
            yield f"{case}: memory off by {errors_gib[case]} GiB (at most {most})"


def of_systems(stated, tables):
    """`tables`: (what, its text); the bounds of these systems are in their cells."""
    allowed = {(what, system, kind): most for what, system, kind, _, most in stated}
    for what, text, columns in tables:
        for row in rows(text, columns):
            missed = MISSED.search(row[6] if what == "calibrated" else row[-1])
            if missed and float(missed[1]) > allowed.get((what, row[0], row[1]), -1):
                yield f"{what}: {row[0]}, {row[1]}: its bound is missed by {missed[1]} points"


def main():
    document, published, one_gpu, compared, calibrated, study = (
        path if path.endswith(".json") else read(path) for path in sys.argv[1:])
    iterations = bounds(section(document, "### Bounds"), 4)
    collectives = rows(section(document, "### Bounds of collectives"), 5)[1:]
    memory = rows(section(document, "### Bounds of memory"), 2)[1:]
    systems = bounds(section(document, "### Systems that may miss theirs"), 5)
    broken = [*of_iterations(iterations, {**errors(published), **errors(one_gpu, "one_gpu/")}),
              *of_collectives(collectives, compared), *of_memory(memory, study),
              *of_systems(systems, [("compared", compared, 10), ("calibrated", calibrated, 10)])]
    if min(len(iterations) - 8, len(collectives) - 6, len(systems) - 2, len(memory) - 2) < 0:
        broken.append(f"only {len(iterations)}, {len(collectives)}, {len(systems)} and {len(memory)} rows state bounds")
    print("\n".join(broken))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
