#!/usr/bin/env python3
"""Prints the table of docs/accuracy.md, "Whole iterations on A100".
Usage: accuracy_iterations.py RESULT.json UNFITTED.json

The first is the result of scenarios/a100_iterations.yaml, the second that of the same scenario with the fitted constant at
its default. Exits 1 where a model's iterations do not come in the published order over its numbers of GPUs.
"""
import itertools
import json
import statistics
import sys


def iterations(path):
    """Case name -> the row of its published iteration."""
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    return {case["name"]: row for case in cases for row in case["published"] if row["quantity"] == "iteration"}


def table(fitted, unfitted):
    print("| case | published ms | nothing fitted ms | error % | one constant fitted ms | error % | role |")
    print("|---|---|---|---|---|---|---|")
    for name, row in fitted.items():
        plain = unfitted[name]
        print(f"| {name} | {row['value']:.1f} | {plain['predicted']:.1f} | {plain['error_pct']:+.1f} | "
              f"{row['predicted']:.1f} | {row['error_pct']:+.1f} | {row['role']} |")


def median(rows, label):
    errors = [abs(row["error_pct"]) for row in rows]
    print(f"| {label} | {len(errors)} | {statistics.median(errors):.1f} | {max(errors):.1f} |")


def medians(fitted, unfitted):
    def of(rows, model):
        return [row for name, row in rows.items() if name.startswith("dlrm") == (model == "dlrm")]

    def predicted(rows):
        return [row for row in rows if row["role"] == "predicted"]

    print("| rows | number | median of the errors % | worst % |")
    print("|---|---|---|---|")
    median(predicted(fitted.values()), "predicted, one constant fitted")
    median(predicted(of(fitted, "nvidia")), "of these NVIDIA's models")
    median(of(fitted, "dlrm"), "of these TorchRec DLRM")
    median(predicted(unfitted.values()), "the same 17, nothing fitted")
    median(predicted(of(unfitted, "nvidia")), "of these NVIDIA's models")
    median(of(unfitted, "dlrm"), "of these TorchRec DLRM")
    median(unfitted.values(), "all, nothing fitted")


def misordered(rows):
    """Pairs of one model on different numbers of GPUs that are predicted the other way round, or alike."""
    for (a, one), (b, other) in itertools.combinations(rows.items(), 2):
        if a.split("/")[0] != b.split("/")[0] or not a.endswith(("gpu", "gpus")):
            continue
        if (one["value"] - other["value"]) * (one["predicted"] - other["predicted"]) <= 0:
            yield a, b


if __name__ == "__main__":
    with_fit, without = iterations(sys.argv[1]), iterations(sys.argv[2])
    table(with_fit, without)
    print()
    medians(with_fit, without)
    wrong = list(misordered(with_fit))
    for a, b in wrong:
        print(f"{a} and {b} are not in the published order", file=sys.stderr)
    sys.exit(1 if wrong else 0)
