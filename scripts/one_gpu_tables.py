#!/usr/bin/env python3
"""Prints the tables of docs/one_gpu.md from the result of scenarios/one_gpu.yaml: each iteration and its lookups and updates, predicted
beside measured, and the errors by operation. Usage: one_gpu_tables.py RESULT.json
"""
import json
import statistics
import sys

OPERATIONS = ["iteration", "lookup_row_wise", "update_row_wise", "dense_forward", "dense_backward", "dense_optimizer_step", "h2d_copy"]


def rows(path):
    """[(case, operation, measured ms, predicted ms, error %)]"""
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    return [(case["name"], row["quantity"].removeprefix("operation:"), row["value"], row["predicted"], row["error_pct"])
            for case in cases for row in case["published"]]


def cases_table(all_rows):
    print("| case | iteration ms | predicted ms | error % | lookup % | update % |")
    print("|---|---|---|---|---|---|")
    errors = {(case, operation): error for case, operation, _, _, error in all_rows}
    for case, operation, value, predicted, error in all_rows:
        if operation == "iteration":
            print(f"| {case} | {value:.3f} | {predicted:.3f} | {error:+.1f} | {errors[case, 'lookup_row_wise']:+.1f} | "
                  f"{errors[case, 'update_row_wise']:+.1f} |")


def errors_table(all_rows, label, operations):
    print()
    print("| GPU | compute model | of | number | median of the errors' size % | mean error % | largest % |")
    print("|---|---|---|---|---|---|---|")
    for gpu in sorted({case.split("/")[0] for case, *_ in all_rows}):
        for operation in operations:
            errors = [error for case, of, _, _, error in all_rows if of == operation and case.startswith(gpu + "/")]
            print(f"| {gpu.upper()} | {label} | {operation} | {len(errors)} | {statistics.median(map(abs, errors)):.1f} | "
                  f"{statistics.mean(errors):+.1f} | {max(map(abs, errors)):.1f} |")


def intervals_line(path):
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    inside = [case["interval"]["low_ms"] <= row["value"] <= case["interval"]["high_ms"]
              for case in cases for row in case["published"] if row["quantity"] == "iteration"]
    print(f"\n{sum(inside)} of {len(inside)} measured iterations lie in the interval that is to hold four of five.")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip())
    all_rows = rows(sys.argv[1])
    if len(sys.argv) == 3:
        errors_table(all_rows, sys.argv[2], OPERATIONS[:3])
        return
    cases_table(all_rows)
    intervals_line(sys.argv[1])
    errors_table(all_rows, "gpu_kernels", OPERATIONS)


if __name__ == "__main__":
    main()
