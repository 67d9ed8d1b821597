#!/usr/bin/env python3
"""Prints the tables of docs/accuracy.md from a result.json. Usage: accuracy.py RESULT.json

A test compares the printed lines with the document, so that its numbers stay true.
"""
import json
import sys


def signed(percent):
    return "-" if percent is None else f"{percent:+.1f}"


def number(value):
    return "-" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def rows(result):
    for case in result["cases"]:
        for row in case["published"]:
            yield case, row


def times(result):
    print("| case | quantity | published ms | planned payload ms | error % | observed payload ms | error % | role |")
    print("|---|---|---|---|---|---|---|---|")
    for case, row in rows(result):
        if row["unit"] != "ms":
            continue
        print(f"| {case['name']} | {row['quantity']} | {number(row['value'])} | {number(row['predicted'])} | "
              f"{signed(row['error_pct'])} | {number(row.get('predicted_at_observed_payload'))} | "
              f"{signed(row.get('error_at_observed_payload_pct'))} | {row['role']} |")


def quantities(result):
    """Each kind of time: how many, and the ends of the errors of those that no fit used, with the observed payload where there is one."""
    found = {}
    for _, row in rows(result):
        if row["unit"] == "ms":
            found.setdefault(row["quantity"], []).append(row)
    print("| quantity | rows | of which fitted | error % of the others, from | to |")
    print("|---|---|---|---|---|")
    for quantity, group in found.items():
        errors = [row.get("error_at_observed_payload_pct", row["error_pct"]) for row in group if row["role"] != "fitted"]
        print(f"| {quantity} | {len(group)} | {len(group) - len(errors)} | {signed(min(errors))} | {signed(max(errors))} |")


def plans(result):
    print("| case | quantity | published | ours | error % |")
    print("|---|---|---|---|---|")
    for case, row in rows(result):
        if ":" not in row["quantity"]:
            continue
        print(f"| {case['name']} | {row['quantity']} | {number(row['value'])} | {number(row['predicted'])} | "
              f"{row['error_pct']:+.2f} |")


def memory(result):
    print("| case | published GiB less than row-wise | ours at the simulated peak | error GiB |")
    print("|---|---|---|---|")
    for case, row in rows(result):
        if row["quantity"] == "memory_saved":
            saved = row["predicted"]
            print(f"| {case['name']} | {row['value']:.1f} | {saved:.2f} | {saved - row['value']:+.2f} |")


def exposure(result):
    print("| case | collective | alone ms | in the iteration ms | exposed ms | exposed / alone |")
    print("|---|---|---|---|---|---|")
    for case in result["cases"]:
        for row in case["collectives"]:
            if row["name"] not in ("intra_node_all_to_all", "cross_node_all_reduce"):
                continue
            print(f"| {case['name']} | {row['name']} | {row['total_ms']:.1f} | {row['in_iteration_ms']:.1f} | "
                  f"{row['exposed_ms']:.1f} | {100 * row['exposed_ms'] / row['total_ms']:.0f} % |")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        study = json.load(file)
    for table in (times, quantities, plans, memory, exposure):
        table(study)
        print()
