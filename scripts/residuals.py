#!/usr/bin/env python3
"""Writes the table of published times beside our predictions, from which intervals are made (docs/confidence.md).

Usage: residuals.py OUTPUT.csv --collectives PREDICTIONS.csv --kernels PREDICTIONS.csv --emulated RESULT.json OBSERVED.csv RESULT.json=SCENARIO.yaml ...

PREDICTIONS.csv are what `shardsim collective compare` and `shardsim compute compare` write, RESULT.json what `shardsim run` writes
for a scenario with published iterations. scripts/residuals.sh makes all of them.
"""
import csv
import json
import sys

COLUMNS = ["class", "system", "name", "size_bytes", "predicted_ms", "observed_ms", "role", "software", "version", "cluster", "gpu", "transport",
           "model", "plan", "nodes", "gpus", "batch_per_gpu", "parts", "source"]
COLLECTIVES = "scenarios/measurements/open"
KERNELS = "scenarios/measurements/kernels"
# Systems whose rows our own studies are fitted to, or that are no exchange over a network.
LEFT_OUT = ("docs/flexshard.md", "NCCL patched")
# Kernels that an iteration has only in one, by the class of the operation that has them.
KERNEL_CLASSES = {"lookup": "lookup", "update": "update", "lookup_and_update": "update", "sort": "sort", "product": "product",
                  "copy": "copy"}


def number(value):
    return f"{value:.6g}"


def size_class(size):
    if size < 64 << 10:
        return "below 64 KiB"
    if size < 1 << 20:
        return "64 KiB to 1 MiB"
    return "1 MiB to 64 MiB" if size < 64 << 20 else "from 64 MiB"


def collective_rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if any(words in row["out_of_model"] for words in LEFT_OUT):
                continue
            within = row["nodes"] == "1"
            size = int(row["size_bytes"])
            place = f"collective/{'in_node' if within else 'rdma'}/{size_class(size)}"
            if row["out_of_model"] and not within:
                # A rate that nobody published says nothing of the errors of networks whose rate is known.
                unknown = row["network"] == "rdma"
                place = f"unknown_rate_collective/{size_class(size)}" if unknown else f"foreign_collective/{size_class(size)}/{row['network']}"
            where = f"{row['nodes']}x{row['gpus_per_node']}"
            yield {"class": f"{place}/{row['collective']}", "system": row["system"],
                   "name": " ".join(filter(None, [row["case"], row["collective"], where])), "size_bytes": size,
                   "predicted_ms": number(float(row["predicted_us"]) * 1e-3),
                   "observed_ms": number(float(row["measured_us"]) * 1e-3), "role": "predicted", "source": COLLECTIVES}


def kernel_rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["out_of_model"]:
                continue
            yield {"class": "kernel/" + KERNEL_CLASSES[row["kind"]], "system": row["gpu"], "name": row["id"] + " " + row["shape"],
                   "size_bytes": row["operand_bytes"], "predicted_ms": number(float(row["predicted_us"]) * 1e-3),
                   "observed_ms": number(float(row["measured_us"]) * 1e-3),
                   "role": "fitted" if row["fitted"] == "yes" else "predicted", "source": KERNELS}


def parts_cell(parts):
    return ";".join(f"{part['class']}={number(part['ms'])}{' guess' if part['guessed'] else ''}" for part in parts)


def iteration_rows(path, scenario):
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    for case in cases:
        for row in case["published"]:
            if row["quantity"] != "iteration" or "interval" not in case:
                continue
            setting = case["interval"]["setting"]
            predicted = row.get("predicted_at_observed_payload", row["predicted"])
            yield {"class": "iteration/" + setting["software"], "system": f"{setting['software']} on {setting['cluster']}",
                   "name": case["name"], "predicted_ms": number(predicted), "observed_ms": number(row["value"]),
                   "role": row["role"], **setting, "parts": parts_cell(case["interval"]["parts"]), "source": scenario}


# Iterations that the ranks of the emulated cluster took, by case.
def emulated_rows(path, observed_path):
    with open(path, encoding="utf-8") as file:
        cases = {case["name"]: case for case in json.load(file)["cases"]}
    with open(observed_path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            case = cases[row["name"]]
            setting = case["interval"]["setting"]
            yield {"class": "emulated/" + setting["software"], "system": "emulated cluster", "name": "emulated/" + row["name"],
                   "predicted_ms": number(case["iteration_ms"]), "observed_ms": row["observed_ms"], "role": "predicted", **setting,
                   "parts": parts_cell(case["interval"]["parts"]), "source": observed_path}


def main():
    words = sys.argv[1:]
    output, words = words[0], words[1:]
    rows = []
    while words:
        word = words.pop(0)
        if word == "--collectives":
            rows += collective_rows(words.pop(0))
        elif word == "--kernels":
            rows += kernel_rows(words.pop(0))
        elif word == "--emulated":
            rows += emulated_rows(words.pop(0), words.pop(0))
        else:
            rows += iteration_rows(*word.split("=", 1))
    with open(output, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
