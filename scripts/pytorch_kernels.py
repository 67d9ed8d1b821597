#!/usr/bin/env python3
"""Fits the products of PyTorch's dense part on operators measured alone, and prints scenarios/gpus/pytorch.yaml.
Usage: pytorch_kernels.py scenarios/measurements/pytorch/h100/operators.csv

The laws are those of models/compute/kernels/pytorch_times.cpp. Products and batched products are fitted by the mean size of the
logarithm of predicted over measured time; numbers of the other kernels were read off the rows that their source names.
"""
import csv
import math
import re
import sys

SMS, MEMORY, CACHE = 132, 2.98e12, 5.5e12  # of the H100, and of its passes as below
OVERLAP = 1.5  # exponent with which operands add to the work of tensor cores: on the rows of the H100 1.5 and 2 are best
SPLITS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]
LAYOUTS = {"linear": "forward", "linear backward, input": "input_gradient", "linear backward, weight": "weight_gradient"}
FIRST_RATE = {"fp32": 60e12, "tf32": 400e12, "tf32 odd": 120e12, "half": 750e12, "half odd": 250e12}

HEAD = """# Kernels that PyTorch runs for the dense part (docs/formats/measurements.md, PyTorch's dense part), of PyTorch 2.11 on one H100.
# Written by scripts/pytorch_kernels.py: products were fitted on operators measured alone, none on a training step. Numbers of the
# passes were read off the rows that the source names; those that were chosen with traces of training steps in view say so.
schema: shardsim.pytorch/1
gpu: H100-SXM5-80GB"""

# key, value, source, whether it was fitted
PASSES = [
    ("gap", "0.45 us", "steps as a CUDA graph less the sum of their kernels, dcn64 and dot64", "pytorch/h100/steps.json"),
    ("start", "1.6 us", "relu and add of 16,384 and 65,536 numbers", None),
    ("memory", "2980 GB/s", "add and relu of 16,777,216 and 33,554,432 numbers", None),
    ("cache", "5500 GB/s", "relu behind linear layers of 4,096 samples in traces of dot128", "pytorch/h100/traces"),
    ("cached", "36 MB", "the same", "pytorch/h100/traces"),
    ("strided", 0.79, "add row, cat backward and transposition of 16,384 samples", None),
    ("elements_per_ns", 240, "the sum in bmm backward, 64 columns", None),
    ("wide_elements_per_ns", 152, "the sum in bmm backward, 128 columns, 27 vectors", None),
    ("widening", 0.645, "to fp32, 33,554,432 numbers", None),
    ("widening_start", "2.8 us", "to fp32 of 32,768 numbers, and casts in traces of cat60", "pytorch/h100/traces"),
    ("rows_sum_start", "7.5 us", "sum over rows, 64 to 4,096 columns: the least mean error, 6.2 %", None),
    ("rows_sum_turn", "0.22 us", "the same", None),
    ("column_sum_start", "1.8 us", "sum over rows, 1 column", None),
    ("column_sum_row", "0.205 ns", "sum over rows, 1 column, 1,024 to 65,536 rows", None),
    ("gather_start", "3.3 us", "lower triangle, fp32", None),
    ("gather_element", "0.0062 ns", "lower triangle, fp32", None),
    ("scatter_start", "6 us", "lower triangle backward, the kernel alone", None),
    ("scatter_element", "0.235 ns", "lower triangle backward, fp32", None),
    ("scatter_element_half", "0.195 ns", "lower triangle backward, bf16", None),
    ("chunk_access", "5.5 us", "sgd and adagrad foreach of tensors of 50,000 and 187,500 numbers", None),
    ("norm_row", "1.4 ns", "layer norm of 102,400 rows, fp32", None),
    ("norm_column", "0.0019 ns", "layer norm of 102,400 rows, fp32, 64, 512 and 1,344 columns", None),
    ("norm_gradient_row", "0.75 ns", "layer norm backward of 102,400 rows, the kernel of the input's gradient, 64 columns", None),
    ("norm_gradient_column", "0.001 ns", "the same, bf16, 64 and 512 columns", None),
    ("norm_weights_row", "2.65 ns", "layer norm backward of 16,384 rows, the kernel of the parameters' gradients, 64 columns", None),
    ("norm_weights_growth", 0.25, "the same, 512 and 1,344 columns", None),
]

# The same of EmbeddingBag and of the updates of its tables, by 32 columns of a bag or row (models/compute/kernels/pytorch_times.h).
BAGS = [
    ("lookup_start", "2.1 us", "embedding bag, 64 and 128 columns, 2,048 to 16,384 bags of one id", None),
    ("lookup_bag", "0.245 ns", "the same, rows in L2", None),
    ("lookup_row", "0.052 ns", "embedding bag, 2,048 bags of 10 ids, 128 columns, rows in L2", None),
    ("lookup_missed", "0.033 ns", "embedding bag, 16,384 bags of 10 ids, less the same in L2", None),
    ("lookup_chain", "0.33 us", "embedding bag, 2,048 bags of 10 ids and of one, 64 columns, rows in L2", None),
    ("copy_start", "1.7 us", "embedding bag backward, sparse", None),
    ("copy_row", "0.604 ns", "embedding bag backward, sparse, 64 and 128 columns alike", None),
    ("add_start", "2.3 us", "sparse sgd of a table", None),
    ("add_row", "0.176 ns", "sparse sgd of a table, 16,384 rows of 64 and 128 columns in L2", None),
    ("add_missed", "0.083 ns", "sparse sgd of a table, 20,480 and 163,840 rows, less the same in L2", None),
    ("add_hottest", "6.2 ns", "index_add_ of the tables of 3 and 4 rows in the trace of dot128_tf32 with 4,096 samples", "pytorch/h100/traces"),
    ("sum_start", "20 us", "guess: some ten kernels of a sort and of unique rows", False),
    ("sum_hottest", "294 ns", "the update of dot64_adagrad with 4,096 samples over the lookups of each table's hottest row", "pytorch/h100/steps.json"),
]


# GPUs whose passes were measured, too: the rate of no data sheet.
MEMORY_OF = [("H200-SXM5-141GB", "4230 GB/s", "pytorch/h200/operators.csv")]


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["kernel_us"]]


def product_rows(rows):
    """[(class, layout, (m, n, k), bytes of a number, us)], without vectors, which no product kernel works on."""
    found = []
    for row in rows:
        if row["op"] not in LAYOUTS:
            continue
        samples, out, inner = int(row["m"]), int(row["n"]), int(row["k"])
        layout, half = LAYOUTS[row["op"]], row["precision"] in ("fp16", "bf16")
        shape = {"forward": (samples, out, inner), "input_gradient": (samples, inner, out), "weight_gradient": (out, inner, samples)}
        element = 2 if half else 4
        odd = (out * element) % 16 or (inner * element) % 16
        kind = "half" if half else row["precision"]
        if min(samples, out, inner) > 1:
            found.append((kind + (" odd" if odd and kind != "fp32" else ""), layout, shape[layout], element, float(row["kernel_us"]) / 1e6))
    return found


def product_time(row, law):
    kind, layout, (m, n, k), element, _ = row
    rate, t128x128, t128x64, t64x64, t32x32, start, tile, share, split_time = law
    best = math.inf
    for rows, columns, part in ((256, 128, 1), (128, 256, 1), (128, 128, t128x128), (128, 64, t128x64), (64, 128, t128x64),
                                (64, 64, t64x64), (32, 32, t32x32)):
        for split in SPLITS:
            if split > 1 and (layout != "weight_gradient" or k / split < 128):
                continue
            waves = math.ceil(math.ceil(m / rows) * math.ceil(n / columns) * split / SMS)
            sums = split_time + 2 * split * m * n * 4 / CACHE if split > 1 else 0
            best = min(best, waves * (2 * rows * columns * k / split * SMS / (rate * part) + tile) + sums)
    operands = (m * k + k * n + m * n) * element / (share * MEMORY)
    if kind == "fp32":
        return start + max(best, operands)
    return start + (best ** OVERLAP + operands ** OVERLAP) ** (1 / OVERLAP)


def batched_rows(rows):
    found = []
    for row in rows:
        if row["op"] not in ("bmm", "bmm backward"):
            continue
        vectors, columns, batch = int(row["m"]), int(row["k"]), int(row["batch"])
        half = row["precision"] in ("fp16", "bf16")
        odd = vectors % 4 or columns % 4
        kind = "half" if half else row["precision"]
        us = float(row["kernel_us"])
        if row["op"] == "bmm backward":  # two products and a sum, each once
            products = [float(text.split(" us x ")[0]) for text in row["kernel_names"].split("; ") if "elementwise" not in text]
            if not products:
                continue
            us = sum(products) / 2
        found.append((kind + (" odd" if odd and kind != "fp32" else ""), "forward" if row["op"] == "bmm" else "gradient",
                      (vectors, columns, batch), 2 if half else 4, us / 1e6))
    return found


def batched_time(row, law):
    _, _, (vectors, columns, batch), element, _ = row
    sample, column, growth, start = law
    work = batch * (vectors / 32) ** growth * (sample + columns * column)
    return start + max(work, batch * (2 * vectors * columns + vectors * vectors) * element / MEMORY)


# Items of a block, by precision and direction: of those in the names of the kernels the size that fits the rows.
ATTENTION_TILES = {("half", "forward"): 128, ("half", "gradient"): 64, ("tf32", "forward"): 64, ("tf32", "gradient"): 64}


def attention_rows(rows):
    """[(class, layout, (length, heads of all samples, columns of a head), nothing, seconds)]"""
    found = []
    for row in rows:
        if row["op"] in ("attention", "attention backward"):
            kind = "half" if row["precision"] == "bf16" else row["precision"]
            found.append((kind, "forward" if row["op"] == "attention" else "gradient",
                          (int(row["m"]), int(row["n"]) * int(row["batch"]), int(row["k"])), 0, float(row["gpu_us_median"]) / 1e6))
    return found


def attention_time(row, law):
    length, heads, columns = row[2]
    start, head, head_column, tiles, tiles_column = law
    blocks = math.ceil(length / ATTENTION_TILES[row[:2]])
    return start + heads * (head + columns * head_column + blocks * blocks * (tiles + columns * tiles_column))


def fitted(rows, time, law, highest):
    """The law with the least mean error, by steps along one number after the other."""
    def error(numbers):
        return sum(min(abs(math.log(time(row, numbers) / row[-1])), 0.5) for row in rows) / len(rows)
    law, least, step = list(law), error(law), 0.3
    while step > 0.01:
        better = False
        for index in range(len(law)):
            for factor in (1 + step, 1 / (1 + step)):
                tried = law[:]
                tried[index] *= factor
                if tried[index] <= highest.get(index, math.inf) and error(tried) < least:
                    law, least, better = tried, error(tried), True
        step = step if better else step / 2
    return law, least


def groups(rows):
    seen = {}
    for row in rows:
        seen.setdefault(row[:2], []).append(row)
    return seen


def said(value, source, rows=None, on="pytorch/h100/operators.csv"):
    used = ", rows_used: %d" % rows if rows else ""
    return "{value: %s, fitted: true, fitted_on: [%s]%s, source: \"%s\"}" % (value if not isinstance(value, str) else '"%s"' % value, on, used, source)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    rows = rows_of(sys.argv[1])
    print(HEAD)
    for key, value, source, on in PASSES:
        print("%s: %s" % (key, said(value, source, on=on or "pytorch/h100/operators.csv")))
    print("memory_of:")
    for gpu, rate, on in MEMORY_OF:
        print("  - gpu: %s\n    memory: %s" % (gpu, said(rate, "add of 16,777,216 numbers", on=on)))
    print("bags:")
    for key, value, source, on in BAGS:
        guess = '{value: "%s", source: "%s"}' % (value, source)
        print("  %s: %s" % (key, guess if on is False else said(value, source, on=on or "pytorch/h100/operators.csv")))
    print("products:")
    for (kind, layout), of in groups(product_rows(rows)).items():
        law, error = fitted(of, product_time, [FIRST_RATE[kind], .9, .8, .6, .3, 1.5e-6, 1e-6, .9, 2.5e-6],
                            {1: 1.05, 2: 1.05, 3: 1.05, 4: 1.05, 7: 1})
        note = "%s, mean error %.1f %%" % (kind, 100 * error)
        names = ["rate", "tile_128x128", "tile_128x64", "tile_64x64", "tile_32x32", "start", "tile", "memory_share", "split"]
        values = ["%.4g TFLOP/s" % (law[0] / 1e12)] + ["%.3g" % part for part in law[1:5]] + \
            ["%.3g us" % (law[5] * 1e6), "%.3g us" % (law[6] * 1e6), "%.3g" % law[7], "%.3g us" % (law[8] * 1e6)]
        print("  - precision: %s\n    aligned: %s\n    layout: %s" % (kind.split()[0], "false" if "odd" in kind else "true", layout))
        for name, value in zip(names, values):
            number = value if re.search("[a-z]", value.replace("e", "")) else float(value)
            print("    %s: %s" % (name, said(number, note, len(of))))
    print("batched:")
    for (kind, layout), of in groups(batched_rows(rows)).items():
        law, error = min((fitted(of, batched_time, [2e-9, 8e-11, growth, 4e-6], {}) for growth in (0.3, 1, 1.5)),
                         key=lambda each: each[1])
        note = "%s, mean error %.1f %%" % (kind, 100 * error)
        print("  - precision: %s\n    aligned: %s\n    layout: %s" % (kind.split()[0], "false" if "odd" in kind else "true", layout))
        for name, value in zip(["sample", "column", "growth", "start"], ["%.3g ns" % (law[0] * 1e9), "%.3g ns" % (law[1] * 1e9),
                                                                         float("%.3g" % law[2]), "%.3g us" % (law[3] * 1e6)]):
            print("    %s: %s" % (name, said(value, note, len(of))))
    print("attention:")
    for (kind, layout), of in groups(attention_rows(rows)).items():
        law, error = min((fitted(of, attention_time, [start, 4e-9, 1e-10, tiles, 2e-10], {}) for start in (1e-5, 3e-5) for tiles in (1e-8, 2e-8, 6e-8)),
                         key=lambda each: each[1])
        note = "attention %s, %s, mean error %.1f %%" % (layout, kind, 100 * error)
        print("  - precision: %s\n    layout: %s\n    tile: %s" %
              (kind, layout, said(ATTENTION_TILES[kind, layout], "the blocks in the kernel's name that fit the rows", len(of))))
        for name, value in zip(["start", "head", "head_column", "tiles", "tiles_column"],
                               ["%.3g us" % (law[0] * 1e6)] + ["%.3g ns" % (part * 1e9) for part in law[1:]]):
            print("    %s: %s" % (name, said(value, note, len(of))))


if __name__ == "__main__":
    main()
