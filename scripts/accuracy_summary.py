#!/usr/bin/env python3
"""Prints the summary of README.md and docs/accuracy.md: how far predictions are off, in five rows.
Usage: accuracy_summary.py STUDY.json PUBLISHED.json ONE_GPU.json COLLECTIVES.md

The results of scenarios/flexshard.yaml, published_iterations.yaml and one_gpu.yaml, and what `shardsim collective compare` wrote
for scenarios/measurements/open. Numbers that were used in a fit are left out.
"""
import json
import re
import statistics
import sys

DCNV2 = r"v[345]\.\d/(a100|h100|h200|b200)/"


def published(path):
    """(name of the case, row) of every published number."""
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    return [(case["name"], row) for case in cases for row in case["published"]]


def iterations(path, pattern=""):
    """The errors of the predicted iterations of the cases whose names begin as the pattern says."""
    return [row["error_pct"] for name, row in published(path)
            if row["quantity"] == "iteration" and row["role"] == "predicted" and re.match(pattern, name)]


def at_observed_bytes(path):
    """The errors of the times that FlexShard's authors published, with the bytes that they counted."""
    return [row["error_at_observed_payload_pct"] for _, row in published(path)
            if row["role"] == "predicted" and row["unit"] == "ms" and row.get("error_at_observed_payload_pct") is not None]


def error_row(label, errors, fitted):
    largest = max(errors, key=abs)
    return f"| {label} | {len(errors)} | {statistics.median(map(abs, errors)):.1f} % | {largest:+.1f} % | {fitted} |"


def collectives_row(path):
    """From the row over all collectives: systems, calls from 1 MiB up, their median and their 95th percentile."""
    with open(path, encoding="utf-8") as file:
        cells = next(line for line in file if line.startswith("| all collectives |")).strip("| \n").split(" | ")
    systems, calls, median, p95 = cells[1:5]
    return (f"| collectives of 1 MiB and more, on {systems} systems | {calls} | {median} % | {p95} % for 95 % of them | "
            "on the other systems only |")


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__.strip())
    study, others, one_gpu, collectives = sys.argv[1:]
    print("| what was predicted | times | median error | largest error | fitted |")
    print("|---|---|---|---|---|")
    print(error_row("iterations of MLPerf's DLRM-DCNv2, 4 to 128 GPUs, A100 to B200", iterations(others, DCNV2),
                    "one constant, on another of its rows"))
    print(error_row("all published iterations that no fit has used, 1 to 128 GPUs", iterations(others), "on other rows only"))
    print(error_row("all-to-alls and an iteration of the FlexShard paper, 32 A100", at_observed_bytes(study),
                    "five constants, on other rows of the paper"))
    print(collectives_row(collectives))
    print(error_row("iterations on one H100 and one H200, predicted before the first run", iterations(one_gpu), "nothing"))


if __name__ == "__main__":
    main()
