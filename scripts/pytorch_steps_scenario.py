#!/usr/bin/env python3
"""Prints scenarios/pytorch_steps.yaml: the models of validate/on_gpu/pytorch_steps.py as cases MODEL_PRECISION/BATCH, each with its
observed eager step. Usage: pytorch_steps_scenario.py scenarios/measurements/pytorch/h100/steps.json
"""
import json
import sys

HEAD = """# Whole training steps of PyTorch on one H100, with what was observed (scenarios/measurements/README.md, PyTorch). Made from the
# measurements by scripts/pytorch_steps_scenario.py; docs/pytorch_steps.md says how far predictions are off.
#
# EmbeddingBags of their own are lookups and updates per table; one bag over all tables is a fused one. Gradients of tables are sparse:
# SGD adds them by index, and Adagrad sums those of a row first.
schema: shardsim.scenario/1
title: Training steps of PyTorch on one H100
cluster: {base: clusters/dgx_h100.yaml, nodes: 1, gpu: {count: 1}}
compute_model: {name: gpu_kernels, kernels: embedding_bag}
planner: {name: row_wise}
seed: 7
cases:"""


DENSE_OPTIMIZERS = {"sgd": "sgd", "adagrad": "adagrad", "adam fused": "adam_fused", "adam foreach": "adam"}


def access(skew):
    return "{family: uniform}" if skew == 0 else "{family: zipf, s: %g}" % skew


def tables(model):
    lines = ["        - {name: t%d, rows: %d, dim: %d, kind: pooled, pooling_factor: %g, access: %s}" %
             (number, rows, dim, pooling, access(skew)) for number, (rows, dim, pooling, skew) in enumerate(model["tables"])]
    if "history" in model:
        rows, dim, length, skew = model["history"]
        lines.append("        - {name: history, rows: %d, dim: %d, kind: sequence, average_length: %d, access: %s}" %
                     (rows, dim, length, access(skew)))
    return lines


def perceptron(name, width, outs):
    lines = []
    for number, out in enumerate(outs):
        lines.append("          - {name: %s_%d, in: %d, out: %d}" % (name, number, width, out))
        width = out
    return lines


def attention(model):
    _, dim, length, _ = model["history"]
    return ["          - {name: attention, kind: multihead_attention, heads: %d, head_dim: %d, length: %d, causal: false,"
            " residual: true, norm: layer_norm, pool: mean}" % (model["heads"], dim // model["heads"], length)]


def width_above(model):
    """The columns that the first layer of the over arch reads."""
    bottom, dims = model["bottom"][-1], [table[1] for table in model["tables"]]
    if model["interaction"] == "dot":
        vectors = len(dims) + 1
        return bottom + vectors * (vectors - 1) // 2
    return bottom + sum(dims) + (model["history"][1] if "history" in model else 0)


def interaction(model):
    if model["interaction"] == "dot":
        return ["        interaction: {kind: dot}"]
    if model["interaction"] == "dcn":
        return ["        interaction: {kind: dcn, layers: %d, rank: %d}" % (model["dcn_layers"], model["rank"])]
    return []


def workload(model, precision, batch):
    kernels = "per_table" if model["bags"] == "separate" else "fused"
    return ["    workload: &%s_%s" % (model["name"], precision), "      name: " + model["name"], "      batch_per_gpu: %d" % batch,
            "      optimizer: {name: %s}" % model["table_optimizer"], "      embedding_kernels: " + kernels, "      tables:",
            *tables(model), "      dense:", "        precision: " + precision,
            "        optimizer: " + DENSE_OPTIMIZERS[model["optimizer"]], "        layers:",
            *perceptron("bottom", 13, model["bottom"]), *(attention(model) if "history" in model else []),
            *perceptron("over", width_above(model), model["top"]), *interaction(model)]


def case(model, step, source, first):
    name, precision, batch = model["name"], step["precision"], step["batch"]
    lines = ["  - name: %s_%s/%d" % (name, precision, batch)]
    lines += workload(model, precision, batch) if first else ["    workload: *%s_%s" % (name, precision),
                                                              "    set: {workload.batch_per_gpu: %d}" % batch]
    return lines + ["    published:", '      - {quantity: iteration, value: "%.4g ms", role: predicted, seen_before: true, source: "%s"}' %
                    (step["ms"], source)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], encoding="utf-8") as file:
        measured = json.load(file)
    models = {model["name"]: model for model in measured["models"]}
    steps = [step for step in measured["steps"] if step["part"] == "step" and step["how"] == "eager" and not step["prefetch"]
             and models[step["model"]].get("sparse", True)]
    steps.sort(key=lambda step: (list(models).index(step["model"]), step["precision"], step["batch"]))
    source = "scenarios/measurements/pytorch/h100, PyTorch %s, eager" % measured["machine"]["torch"].split("+")[0]
    print(HEAD)
    seen = set()
    for step in steps:
        kind = (step["model"], step["precision"])
        print("\n".join(case(models[step["model"]], step, source, kind not in seen)))
        seen.add(kind)


if __name__ == "__main__":
    main()
