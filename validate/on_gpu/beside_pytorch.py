#!/usr/bin/env python3
"""What PyTorch takes for the work of the micro-benchmark's grid, in the columns of its table (docs/formats/measurements.md),
and how both compare. Shapes come from that table, so that the two are of one machine, one run and one shape.

beside_pytorch.py --measured measured.csv --seconds S -o torch.csv [--small]
"""
import argparse
import csv
import itertools
import re
import statistics
import sys
import time

import torch

REPETITIONS = 20
COLUMNS = ["id", "quality", "gpu", "gpu_named_by_source", "software", "op", "num_tables", "rows_per_table", "dim_elements",
           "batch_size_samples", "pooling_factor_lookups_per_sample", "weight_dtype", "optimizer", "index_distribution",
           "cache_state", "num_gpus", "time_us", "time_statistic", "reported_bandwidth_GBps", "reported_bandwidth_definition",
           "derived_row_traffic_bytes", "derived_row_bandwidth_GBps", "measured_dram_traffic_bytes", "source", "notes"]
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def note(text):
    print("= " + text, flush=True)


class Clock:
    """Times calls between two events as the micro-benchmark does: several that use memory of their own in turn, back to
    back, or one at a time after a flush. Outputs lie where PyTorch's allocator puts them, as in a training."""

    def __init__(self, device):
        self.device = device
        cache = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0) or 64 << 20
        self.swept = torch.empty(2 * cache, dtype=torch.int8, device=device)
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def us(self, calls, together):
        times, turns = [], itertools.cycle(calls)
        for repetition in range(REPETITIONS + 3):
            if len(calls) == 1:
                self.swept.fill_(1)
                self.swept.sum(dtype=torch.int64)
            # The launches of what is timed are hidden behind this, where the host is slower than the GPU.
            torch.cuda._sleep(200_000 * together)
            self.start.record()
            for _ in range(together):
                next(turns)()
            self.end.record()
            self.end.synchronize()
            if repetition >= 3:
                times.append(1000 * self.start.elapsed_time(self.end) / together)
        return times


def in_turn(row):
    """How many copies of its memory a row was timed with, and how many calls between two events."""
    copies = re.match(r"rotated: (\d+) copies", row["cache_state"])
    together = re.search(r"(\d+) calls between two events", row["notes"])
    return (int(copies[1]), int(together[1]) if together else 1) if copies else (1, 1)


def embedding_bag(row, device):
    rows, dim, batch, pooling = (int(row[c]) for c in COLUMNS[7:11])
    table = torch.empty(rows, dim, dtype=TYPES[row["weight_dtype"]], device=device).uniform_(-1, 1)
    indices = torch.randint(rows, (batch * pooling,), device=device)
    offsets = torch.arange(0, batch * pooling, pooling, device=device)
    weights = torch.ones(batch * pooling, dtype=table.dtype, device=device) if "weighted" in row["op"] else None
    return "embedding_bag", lambda: torch.nn.functional.embedding_bag(
        indices, table, offsets, mode="sum", per_sample_weights=weights)


def index_select(row, device):
    rows, dim, count = (int(row[c]) for c in ("rows_per_table", "dim_elements", "batch_size_samples"))
    table = torch.empty(rows, dim, dtype=TYPES[row["weight_dtype"]], device=device).uniform_(-1, 1)
    indices = torch.randint(rows, (count,), device=device)
    return "index_select", lambda: torch.index_select(table, 0, indices)


def matmul(row, device):
    m, n, k = (int(row[c]) for c in ("batch_size_samples", "dim_elements", "rows_per_table"))
    torch.backends.cuda.matmul.allow_tf32 = row["weight_dtype"] == "tf32"
    a, b = (torch.rand(*shape, device=device).to(TYPES[row["weight_dtype"]]) for shape in ((m, k), (k, n)))
    return "matmul", lambda: torch.matmul(a, b)


def sort(row, device):
    keys = torch.randint(int(row["rows_per_table"]), (int(row["batch_size_samples"]),), device=device)
    return "sort", lambda: torch.sort(keys)


def fbgemm_lookup(row, device):
    """The table-batched kernel of FBGEMM, forward alone; None where it is not installed."""
    try:
        from fbgemm_gpu.split_embedding_configs import SparseType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
            ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen)
    except ImportError:
        return None
    if "weighted" in row["op"]:
        return None
    rows, dim, batch, pooling = (int(row[c]) for c in COLUMNS[7:11])
    precision = SparseType.FP16 if row["weight_dtype"] == "fp16" else SparseType.FP32
    tables = SplitTableBatchedEmbeddingBagsCodegen(
        [(rows, dim, EmbeddingLocation.DEVICE, ComputeDevice.CUDA)], weights_precision=precision, device=device)
    indices = torch.randint(rows, (batch * pooling,), device=device)
    offsets = torch.arange(0, batch * pooling + 1, pooling, device=device)

    def call():
        with torch.no_grad():
            tables(indices, offsets)
    return "FBGEMM TBE", call


KINDS = {"tbe_fwd": [embedding_bag, fbgemm_lookup], "nobag_fwd": [index_select], "gemm": [matmul], "sort_pairs": [sort]}


def rows_to_run(path):
    """The rows that PyTorch has something like: even access, cold caches, one table; kinds in turns, in their order."""
    with open(path, newline="") as file:
        measured = list(csv.DictReader(file))
    kinds = {}
    for row in measured:
        kind = row["op"].split(",")[0].split(" ")[0]
        if kind not in KINDS or row["index_distribution"] not in ("", "uniform") or row["cache_state"].startswith("warm"):
            continue
        if kind == "gemm" and row["weight_dtype"] not in TYPES:
            continue
        kinds.setdefault(kind, []).append((kind, row))
    turns = []
    for at in range(max(map(len, kinds.values()), default=0)):
        turns += [rows[at] for rows in kinds.values() if at < len(rows)]
    return turns


def compared(ratios):
    for (kind, software), values in sorted(ratios.items()):
        values.sort(key=lambda each: each[0])
        worst = values[-1]
        note("%s beside %s: %d shapes, ours takes %.2f of its time (median), %.2f at most, at %s" %
             (kind, software, len(values), statistics.median(v[0] for v in values), worst[0], worst[1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--measured", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    device = torch.device("cuda")
    clock, began, ratios, written, dropped = Clock(device), time.monotonic(), {}, [], 0
    rows = rows_to_run(given.measured)
    for kind, row in rows[:4] if given.small else rows:
        if time.monotonic() - began > given.seconds:
            dropped += 1
            continue
        for make in KINDS[kind]:
            try:
                made = make(row, device)
                if made is None:
                    continue
                software, copies = made[0], in_turn(row)
                calls = [made[1]] + [make(row, device)[1] for _ in range(copies[0] - 1)]
                times = clock.us(calls, copies[1])
            except (torch.cuda.OutOfMemoryError, RuntimeError) as error:
                print("%s: %s" % (row["op"], str(error).splitlines()[0]))
                continue
            finally:
                made = calls = None
                torch.cuda.empty_cache()
            middle = statistics.median(times)
            shape = " ".join(row[c] for c in COLUMNS[7:12] if row[c])
            ratios.setdefault((row["op"], software), []).append((float(row["time_us"]) / middle, shape))
            line = dict(row, id="t%04d" % (len(written) + 1), software="PyTorch %s %s" % (torch.__version__, software),
                        time_us="%.6g" % middle, time_statistic="median of %d" % len(times), source="beside_pytorch.py",
                        measured_dram_traffic_bytes="", notes="min %.6g" % min(times))
            if row["derived_row_traffic_bytes"]:
                line["derived_row_bandwidth_GBps"] = "%.4g" % (float(row["derived_row_traffic_bytes"]) / middle * 1e-3)
            written.append(line)
    with open(given.output, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(written)
    note("PyTorch %s, CUDA %s: %d rows, %d left out for time" % (torch.__version__, torch.version.cuda, len(written), dropped))
    compared(ratios)
    if not written:
        sys.exit("no row of %s has a counterpart" % given.measured)


if __name__ == "__main__":
    main()
