#!/usr/bin/env python3
"""Writes scenarios/torchrec_pipelines.yaml from the rows of TorchRec's train-pipeline benchmark.

    scripts/torchrec_pipelines.py [ROWS.csv] [-o SCENARIO.yaml]

Every row becomes the case of its id by the rules below, which read a row's columns and never its id: other rows of the same form become
cases in the same way. What a row does not say is a guess, and listed at the top of the scenario.
"""
import argparse
import csv
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
ROWS = HERE / "scenarios/measurements/torchrec/pipelines.csv"

HEAD = """\
# TorchRec's own benchmark of its train pipelines, run by run: measured in commits of meta-pytorch/torchrec from 2024 to 2026, rows and
# their sources in measurements/torchrec/pipelines.csv. Written by scripts/torchrec_pipelines.py: a case has the id of its row.
#
# Guesses, all made with these rows in view:
# - The GPUs of A100 and H100 rows exchange through host memory, as NCCL's transport SHM does: the rows do not say how they are joined,
#   and over NVLink what is left unexplained grows with the pooled columns as if they were exchanged at 12 (A100) and 20 to 26 GB/s (H100).
# - Two GB200 are on one tray, and joined by NVLink.
# - The H100 of 96 GB has HBM2e of 2,400 GB/s, as Meta states of its H100 of 96 GB (arXiv 2411.01783).
# - Rows whose GPU is unknown are simulated on A100: of them only ratios, and bytes, are comparable.
# - The host is PyTorch's and TorchRec's: `pytorch_eager` with the times that `torchrec_eager` has for modules and features.
# No constant was fitted on these rows.
schema: shardsim.scenario/1
title: TorchRec's train-pipeline benchmark, run by run
planner: {name: torchrec}
memory_model: {name: torchrec}
software: {name: pytorch_eager, module_dist: "0.6 ms", module_call: "0.3 ms", module_output: "0.2 ms", module_backward: "0.4 ms", per_feature: "12 us", fixed: "4.5 ms"}
cases:
"""

# Two sockets, a switch and a GPU each: farther apart than GPUs copy to each other directly.
THROUGH_HOST = ("nvlink: {kind: none}, pcie: {tree: [{switch: s0, parent: 0, gpus: [0], nics: [0]}, "
                "{switch: s1, parent: 1, gpus: [1], nics: [1]}], p2p_level: pix}")
FOUR_THROUGH_HOST = ("nvlink: {kind: none}, pcie: {tree: ["
                     + ", ".join(f"{{switch: s{i}, parent: {i // 2}, gpus: [{i}], nics: [{i}]}}" for i in range(4))
                     + "], p2p_level: pix}")


def cluster(row):
    gpus = int(row["world_size"])
    if row["gpu"].startswith("GB200"):
        return f"{{base: clusters/gb200_nvl72.yaml, nodes: 1, gpu: {{count: {gpus}}}, nvlink: {{domain: {gpus}}}}}"
    joined = THROUGH_HOST if gpus == 2 else FOUR_THROUGH_HOST
    if row["gpu"].startswith("H100"):
        memory = "" if "96GB" not in row["gpu"] else ', model: H100-SXM5-96GB, hbm: "96 GB", hbm_bandwidth: "2400 GB/s"'
        return f"{{base: clusters/hgx_h100_8x400g.yaml, nodes: 1, gpu: {{count: {gpus}{memory}}}, {joined}}}"
    return f"{{base: clusters/dgx_a100_80gb.yaml, nodes: 1, gpu: {{count: {gpus}}}, {joined}}}"


def table(name, rows, dim, dtype, ids, weighted=False, copies=0, kind="pooled"):
    text = f"name: {name}, rows: {rows}, dim: {dim}"
    if dtype != "fp32":
        text += f", dtype: {dtype}"
    text += f", kind: {kind}"
    if kind == "sequence":
        text += f", average_length: {ids}"
    elif weighted:
        text += f", module: weighted_ebc, features: [{{name: {name}, pooling_factor: {ids}, weighted: true}}]"
    else:
        text += f", pooling_factor: {ids}"
    if copies:
        text += f", copies: {copies}"
    return f"{{{text}}}"


SHAPE = r"(\d+)x(\d+)(?: (fp\d+))?"
LEAST_ROWS = 100_000  # of table i of the defaults: max(i + 1, 100) x 1000


def tables(row):
    """The tables that the column `tables` lists, in its order: counts of unweighted and weighted tables, then tables by name."""
    ids = row["mean_ids_per_bag"]
    made = []
    text = re.sub(r"\([^)]*\)", "", row["tables"])
    defaults = re.match(r"(\d+) unweighted \+ (\d+) weighted, rows x (\d+)", re.sub(r"\(i\+1\) x 1000 rows", "rows", row["tables"]))
    if defaults:
        plain, weighted, dim = map(int, defaults.groups())
        return [table("table", LEAST_ROWS, dim, "fp32", ids, copies=plain),
                table("weighted", LEAST_ROWS, dim, "fp32", ids, weighted=True, copies=weighted)]
    for part in text.split(";"):
        counted = re.match(rf"\s*(\d+) unweighted(?: \+ (\d+) weighted)? {SHAPE}", part)
        if counted:
            plain, weighted, rows, dim, dtype = counted.groups()
            made.append(table("table", rows, dim, dtype or "fp32", ids, copies=int(plain)))
            if weighted:
                made.append(table("weighted", rows, dim, dtype or "fp32", ids, weighted=True, copies=int(weighted)))
            continue
        kind = "sequence" if "sequences:" in part else "pooled"
        for name, rows, dim, dtype in re.findall(rf"(\w+) {SHAPE}", part):
            made.append(table(name, rows, dim, dtype or "fp32", ids, kind=kind))
    return made


def layer(name, inputs, out, repeat=1, swish=False, first=False):
    text = f"name: {name}, in: {inputs}, out: {out}"
    if swish:
        text += ", norm: swish_layer_norm"
    if repeat > 1:
        text += f", repeat: {repeat}"
    return f"{{{text}}}"


def layers(row):
    """`dense A-B-C; over D-E + N x E-E`: the bottom layers one by one, then the over arch."""
    stated = row["dense_part"]
    if stated.startswith("defaults"):
        columns = int(row["columns_pooled_per_sample"])
        stated = f"dense {row['float_features']}-8; over {columns + 8}-16 + 5 x 16-16, SwishLayerNorm after each"
    dense, over = stated.split(";")[:2]
    widths = [int(width) for width in re.search(r"dense ([\d-]+)", dense).group(1).split("-")]
    made = [layer(f"bottom_{i}", a, b) for i, (a, b) in enumerate(zip(widths, widths[1:]))]
    first, out, repeat = re.search(r"over (\d+)-(\d+)(?: \+ (\d+) x \d+-\d+)?", over).groups()
    made.append(layer("over_in", first, out, swish=True))
    if repeat:
        made.append(layer("over", out, out, int(repeat), swish=True))
    last = re.search(r"then (\d+)-(\d+)", over)
    if last:
        made.append(layer("over_out", *last.groups()))
    return made


PIPELINES = {"base": "base", "TrainPipelineBase": "base", "TrainPipelineSemiSync": "semi_sync", "prefetch": "prefetch_sparse_dist", "prefetch-ems": "prefetch_sparse_dist",
             "PrefetchTrainPipelineSparseDist": "prefetch_sparse_dist"}


def pipeline(row):
    return PIPELINES.get(row["pipeline"].split(" ")[0], "sparse_dist")


def copies(row):
    """The collections joined, a regroup, and the join with the bottom layers."""
    regroups = row["model"] == "TestSparseNN" and "skip_regroup" not in row["options"]
    return 3 if regroups else 2


def is_freed(row, what):
    return any(word in f"{row['options']} {row['variant']}" for word in what)


def kept(row):
    """The parts of a batch's input that TorchRec keeps unless an option frees them."""
    batch = not is_freed(row, ("batch freed", "frees the features", "free_input"))
    sent = not is_freed(row, ("inputs of the all-to-all freed", "inputs freed early"))
    return f"{{batch: {str(batch).lower()}, sent: {str(sent).lower()}}}"


def stash(row):
    """Where stashed rows start on their way back, as `options` says it, and the tables that stay."""
    if row["pipeline"] != "sparse-emb-stash":
        return None
    options = row["options"]
    bottom = len(re.search(r"dense ([\d-]+)", row["dense_part"]).group(1).split("-")) - 2
    place = "gradients" if "backward exchange" in options else f"bottom_{bottom}" if "dense arch" in options else "over_in"
    keep = re.findall(r"(\w+) \d+x\d+ \(not stashed\)", row["tables"])
    return f"{{restore_at: {place}" + (f", keep: [{', '.join(keep)}]" if keep else "") + "}"


def constraints(row):
    """Types by table as `sharding` names them, kernels as `kernels` does; all other tables are table-wise."""
    made = []
    kernels = dict(re.findall(r"(\w+) (fused_uvm(?:_caching)?)", row["kernels"]))
    factor = re.search(r"load factor ([\d.]+)", row["kernels"])
    for name, kind in re.findall(r"(\w+) (row_wise|column_wise)", row["sharding"]):
        text = f"sharding_types: [{kind}]"
        if name in kernels:
            text += f", compute_kernels: [{kernels[name]}]"
            if factor and kernels[name].endswith("caching"):
                text += f", cache_load_factor: {factor.group(1)}"
        else:
            text += ", compute_kernels: [fused]"
        made.append(f"{name}: {{{text}}}")
    if "no_stash" in row["sharding"]:
        made.append("large_table_no_stash: {sharding_types: [column_wise], compute_kernels: [fused]}")
    made.append('"*": {sharding_types: [table_wise], compute_kernels: [fused]}')
    return ", ".join(made)


def optimizer(row):
    return "rowwise_adagrad" if row["sparse_optimizer"] == "EXACT_ROWWISE_ADAGRAD" else "sgd"


# What a row has that is not simulated; its time, or its time and memory, are then not compared.
NOT_SIMULATED = [
    ("pipeline", "eval", "evaluation, and these are training steps"),
    ("pipeline", "prefetch-ems", "a cache that is freed during the dense part"),
    ("dense_optimizer", "Shampoo", "Shampoo"),
    ("options", "prototype", "a prototype that blocks the host"),
    ("options", "outputs of the sequence tables", "activations that leave the device"),
]


def not_simulated(row):
    return [why for column, word, why in NOT_SIMULATED if word in row[column]]


def published(row):
    if not_simulated(row):
        return []
    source = f"meta-pytorch/torchrec@{row['commit']}, {row['config_file'].split('/')[-1]}: {row['variant']}"
    made = []
    if row["gpu_runtime_ms"]:
        made.append(f'{{quantity: "run:{row["iterations_per_run"]}", value: "{row["gpu_runtime_ms"]} ms", role: predicted, '
                    f'seen_before: true, source: "{source}"}}')
    elif row["ms_per_iteration"]:
        made.append(f'{{quantity: iteration, value: "{row["ms_per_iteration"]} ms", role: predicted, seen_before: true, '
                    f'source: "{source}"}}')
    if row["peak_allocated_gb"]:  # of 1000 MiB
        mib = round(float(row["peak_allocated_gb"]) * 1000)
        made.append(f'{{quantity: peak_memory, value: "{mib} MiB", role: predicted, seen_before: true, '
                    f'derived: true, source: "{source}"}}')
    return made


def case(row):
    lines = [f"  # {row['variant']}, {row['pipeline']}; {row['options'].strip('; ') or 'no options'}; GPU {row['gpu_basis']}"]
    lines += [f"  # Not simulated, so not compared: {why}" for why in not_simulated(row)]
    lines.append(f"  - name: {row['id']}")
    lines.append(f"    cluster: {cluster(row)}")
    lines.append("    workload:")
    lines.append(f"      name: torchrec_pipeline_{row['id']}")
    lines.append(f"      batch_per_gpu: {row['batch_per_rank']}")
    lines.append(f"      optimizer: {{name: {optimizer(row)}}}")
    lines.append(f"      pipeline: {pipeline(row)}")
    lines.append(f"      inputs_kept: {kept(row)}")
    if stash(row):
        lines.append(f"      stash: {stash(row)}")
    lines.append("      dense:")
    lines.append(f"        concatenations: {copies(row)}")
    lines.append("        optimizer: sgd")
    lines.append("        layers:")
    lines += [f"          - {each}" for each in layers(row)]
    lines.append("      tables:")
    lines += [f"        - {each}" for each in tables(row)]
    lines.append(f"    constraints: {{{constraints(row)}}}")
    numbers = published(row)
    if numbers:
        lines.append("    published:")
        lines += [f"      - {each}" for each in numbers]
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="?", default=ROWS)
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    with open(arguments.rows, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    text = HEAD + "\n".join("\n".join(case(row)) for row in rows) + "\n"
    if arguments.output:
        pathlib.Path(arguments.output).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
