#!/usr/bin/env python3
"""Prints the tables of docs/accuracy.md, "Whole iterations of others", from the result of scenarios/published_iterations.yaml.
Usage: accuracy_sources.py RESULT.json [DOCUMENT]

With a document the tables replace what stands there between the two marks.

Sources are the first two parts of a case's name. The cases of MLPerf's rounds stand one by one, other sources together.
"""
import contextlib
import io
import json
import re
import statistics
import sys

# Steps between runs whose published times are compared with each other, not one by one.
STEPS = [
    ("v3.1/h100/8x55296", "v3.1/h100/64x135168"),
    ("v3.1/h100/64x135168", "v3.1/h100/128x135168"),
    ("v3.0/h100/128x135168", "v3.1/h100/128x135168"),
    ("v3.0/h100/8x55296", "v3.0/h100/64x135168"),
    ("v3.0/h100/64x135168", "v3.0/h100/128x135168"),
    ("v1.0/a100/8x55296", "v1.0/a100/64x71680"),
    ("v1.0/a100/64x71680", "v1.0/a100/112x71680"),
]


def iterations(path):
    """Case name -> the row of its published iteration."""
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    return {case["name"]: row for case in cases for row in case["published"] if row["quantity"] == "iteration"}


def is_round(name):
    return re.match(r"v\d+\.\d+/", name) is not None


def source(name):
    return "/".join(name.split("/")[:-1][:2])


def role(row):
    """As the report has it."""
    if row["role"] == "partly_fitted":
        return f"{row['fitted_share_pct']:.0f} % fitted"
    return row["role"] + (", seen before" if row["role"] == "predicted" and row.get("seen_before") else "")


def case_table(rows):
    print("| case | published ms | predicted ms | error % | role |")
    print("|---|---|---|---|---|")
    for name, row in rows.items():
        if is_round(name):
            print(f"| {name} | {row['value']:.3f} | {row['predicted']:.3f} | {row['error_pct']:+.1f} | {role(row)} |")


def error_row(label, rows):
    errors = [row["error_pct"] for row in rows if row["role"] == "predicted"]
    seen = sum(row["role"] == "predicted" and row.get("seen_before", False) for row in rows)
    counts = [len(errors) - seen, seen] + [sum(row["role"] == each for row in rows) for each in ("partly_fitted", "fitted")]
    label += " | " + " | ".join(map(str, counts))
    if not errors:
        return f"| {label} | - | - | - |"
    sizes = [abs(error) for error in errors]
    return (f"| {label} | {statistics.median(sizes):.1f} | {statistics.median(errors):+.1f} | "
            f"{max(errors, key=abs):+.1f} |")


def source_table(rows):
    print("| source | predicted, never seen | predicted, seen before | partly fitted | fitted | median of the sizes % | median error % | worst % |")
    print("|---|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(source(name) for name in rows):
        print(error_row(name, [row for other, row in rows.items() if source(other) == name]))
    print(error_row("all", rows.values()))


def step_table(rows):
    print("| from | to | published | predicted | error of the ratio % |")
    print("|---|---|---|---|---|")
    for first, second in STEPS:
        if first not in rows or second not in rows:
            continue
        published = rows[second]["value"] / rows[first]["value"]
        predicted = rows[second]["predicted"] / rows[first]["predicted"]
        print(f"| {first} | {second} | {published:.3f} | {predicted:.3f} | {100 * (predicted / published - 1):+.1f} |")


BEGIN = "<!-- begin: written by scripts/accuracy_sources.py -->\n"
END = "<!-- end of what scripts/accuracy_sources.py wrote -->\n"


def update(path, tables):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{path}: the marks are not there once each")
    head, rest = text.split(BEGIN)
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + BEGIN + tables + END + rest.split(END)[1])


if __name__ == "__main__":
    published = iterations(sys.argv[1])
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for table in (source_table, case_table, step_table):
            table(published)
            print()
    if len(sys.argv) > 2:
        update(sys.argv[2], out.getvalue())
    else:
        print(out.getvalue(), end="")
