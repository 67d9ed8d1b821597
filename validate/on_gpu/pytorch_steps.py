#!/usr/bin/env python3
"""Whole training steps of DLRM-like models in PyTorch on one GPU: eager, under the profiler, and as CUDA graphs.

pytorch_steps.py --seconds S -o steps.json --traces traces.tar [--device cpu --small]

steps.json has a row for each way to run a step (docs/formats/measurements.md, Steps of PyTorch). It is written anew after each
case, and the cases are in the order of their worth, so that little is lost if the process is killed.
"""
import argparse
import bisect
import contextlib
import gc
import gzip
import itertools
import json
import os
import platform
import statistics
import subprocess
import tarfile
import tempfile
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

STEPS = 30
TRACED_STEPS = 3
TRACES_AT_MOST = 11 << 20  # bytes of the tar file
GPU_EVENTS = ("kernel", "gpu_memcpy", "gpu_memset")

# The numbers of categories of Criteo Kaggle's 26 columns, at most a million.
CRITEO = [1460, 583, 1000000, 1000000, 305, 24, 12517, 633, 3, 93145, 5683, 1000000, 3194, 27, 14992, 1000000, 10, 5652, 2173, 4,
          1000000, 18, 15, 286181, 105, 142572]


def mixed_tables():
    """60 tables that differ in rows, dim, pooling and skew: [rows, dim, pooling, Zipf exponent (0: uniform)]."""
    rows, dims = (1200, 36000, 250000, 1500000), (16, 32, 32, 64, 128)
    pooling, skew = (1, 1, 2, 1, 5, 1, 12), (1.05, 0.9, 0.0)
    return [[rows[t % 4], dims[(t * 3 + t // 5) % 5], pooling[t % 7], skew[t % 3]] for t in range(60)]


# `bags`: one EmbeddingBag for each table, or one over the rows of all tables ("merged"), as a table-batched kernel has it.
MODELS = {
    "dot128": dict(tables=[[rows, 128, 1, 1.05] for rows in CRITEO], bags="separate", bottom=[512, 256, 128], interaction="dot",
                   top=[1024, 512, 256, 1], optimizer="sgd", table_optimizer="sgd"),
    "dcn64": dict(tables=[[400000, 64, 1 + (t * t) % 17, (0.0, 1.05, 1.1)[t % 3]] for t in range(20)], bags="merged",
                  bottom=[256, 64], interaction="dcn", dcn_layers=2, rank=256, top=[512, 512, 256, 1], optimizer="adagrad",
                  table_optimizer="sgd"),
    "cat60": dict(tables=mixed_tables(), bags="separate", bottom=[512, 128], interaction="cat", top=[4096, 2048, 1024, 1],
                  optimizer="adam fused", table_optimizer="sgd"),
    "seq100": dict(tables=[[100000, 64, 1, 1.05]] * 8, bags="merged", history=[1000000, 64, 100, 1.05], heads=4, bottom=[128, 64],
                   interaction="attention", top=[512, 256, 1], optimizer="adam foreach", table_optimizer="sgd"),
    "dot64": dict(tables=[[rows, 64, 1, 1.05] for rows in CRITEO], bags="merged", bottom=[512, 256, 64], interaction="dot",
                  top=[512, 256, 1], optimizer="sgd", table_optimizer="sgd"),
    "dot64_dense": dict(tables=[[min(rows, 20000), 64, 1, 1.05] for rows in CRITEO], bags="separate", bottom=[512, 256, 64],
                        interaction="dot", top=[512, 256, 1], optimizer="sgd", table_optimizer="sgd", sparse=False),
    "dot64_adagrad": dict(tables=[[rows, 64, 1, 1.05] for rows in CRITEO], bags="separate", bottom=[512, 256, 64],
                          interaction="dot", top=[512, 256, 1], optimizer="adagrad", table_optimizer="adagrad"),
    "seq200": dict(tables=[[100000, 64, 1, 1.05]] * 8, bags="merged", history=[1000000, 64, 200, 1.05], heads=2, bottom=[128, 64],
                   interaction="attention", top=[512, 256, 1], optimizer="adam foreach", table_optimizer="sgd"),
}
DENSE_FEATURES = 13


def cases():
    """(model, precision, batch, prefetch), what matters most first."""
    main = [("dot128", "tf32"), ("dcn64", "tf32"), ("cat60", "bf16"), ("seq100", "tf32"), ("dot64", "fp32")]
    for batch in (4096, 16384, 1024, 65536):
        for model, precision in main:
            yield model, precision, batch // 4 if model.startswith("seq") else batch, False
        if batch == 16384:
            yield "dot128", "tf32", 16384, True
    yield from [("dot128", "bf16", 4096, False), ("dot128", "bf16", 16384, False), ("dot64_adagrad", "tf32", 4096, False),
                ("dot64_dense", "tf32", 4096, False), ("seq200", "bf16", 1024, False), ("cat60", "tf32", 4096, False),
                ("dcn64", "bf16", 8192, False), ("dot64", "tf32", 8192, False), ("dot64", "fp32", 4096, True),
                ("seq200", "tf32", 512, False), ("dot64_adagrad", "tf32", 16384, False), ("seq100", "bf16", 4096, False),
                ("dot64_dense", "tf32", 16384, False), ("dot128", "fp32", 8192, False), ("dcn64", "fp32", 4096, False)]


def perceptron(width, layers, last_is_linear):
    parts = []
    for number, out in enumerate(layers):
        parts += [nn.Linear(width, out)]
        if number + 1 < len(layers) or not last_is_linear:
            parts += [nn.ReLU()]
        width = out
    return nn.Sequential(*parts)


class Tables(nn.Module):
    """Pooled lookups by EmbeddingBag. Returns a list of (batch, dim), or one (batch, tables, dim) where tables are merged."""

    def __init__(self, tables, merged, sparse, device, generator):
        super().__init__()
        self.shapes, self.merged, self.sparse = tables, merged, sparse
        sizes = [[sum(t[0] for t in tables), tables[0][1]]] if merged else [t[:2] for t in tables]
        self.weights = nn.ParameterList(
            [nn.Parameter(torch.empty(*size, device=device).uniform_(-0.05, 0.05, generator=generator)) for size in sizes])

    def bag(self, ids, offsets, weight):
        return nn.functional.embedding_bag(ids, weight, offsets, mode="sum", sparse=self.sparse)

    def forward(self, ids, offsets):
        if self.merged:
            pooled = self.bag(ids, offsets, self.weights[0])
            return pooled.view(len(self.shapes), -1, pooled.shape[1]).transpose(0, 1)
        pooled, first = [], 0
        batch = offsets.numel() // len(self.shapes)
        for number, (_, _, pooling, _) in enumerate(self.shapes):
            count = batch * pooling
            pooled.append(self.bag(ids[first:first + count], offsets[number * batch:(number + 1) * batch], self.weights[number]))
            first += count
        return pooled


class Dot(nn.Module):
    """The interaction of DLRM: products of all pairs of vectors, the lower triangle of them, behind the dense vector."""

    def __init__(self, spec, device):
        super().__init__()
        vectors = len(spec["tables"]) + 1
        self.lower = torch.tril_indices(vectors, vectors, -1, device=device)
        self.width = spec["bottom"][-1] + vectors * (vectors - 1) // 2

    def forward(self, x, pooled):
        if torch.is_tensor(pooled):
            vectors = torch.cat((x.unsqueeze(1), pooled), dim=1)
        else:
            vectors = torch.cat([x] + pooled, dim=1).view(x.shape[0], -1, x.shape[1])
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return torch.cat((x, products[:, self.lower[0], self.lower[1]]), dim=1)


class Cross(nn.Module):
    """The low-rank cross layers of DCN v2, as TorchRec writes them."""

    def __init__(self, spec):
        super().__init__()
        self.width = spec["bottom"][-1] + sum(table[1] for table in spec["tables"])
        layers, rank = range(spec["dcn_layers"]), spec["rank"]
        self.down = nn.ParameterList([nn.Parameter(torch.randn(rank, self.width) / self.width ** 0.5) for _ in layers])
        self.up = nn.ParameterList([nn.Parameter(torch.randn(self.width, rank) / rank ** 0.5) for _ in layers])
        self.bias = nn.ParameterList([nn.Parameter(torch.zeros(self.width)) for _ in layers])

    def forward(self, x, pooled):
        first = each = torch.cat((x, pooled.reshape(x.shape[0], -1)), dim=1)
        for down, up, bias in zip(self.down, self.up, self.bias):
            product = nn.functional.linear(nn.functional.linear(each, down), up)
            each = first * (product + bias) + each
        return each


class Concatenation(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.width = spec["bottom"][-1] + sum(table[1] for table in spec["tables"])

    def forward(self, x, pooled):
        return torch.cat([x] + list(pooled), dim=1)


class Attention(nn.Module):
    """Self-attention over a history, its mean, and the other vectors beside it. pooled: (batch, tables, dim), history."""

    def __init__(self, spec):
        super().__init__()
        dim = spec["history"][1]
        self.attention = nn.MultiheadAttention(dim, spec["heads"], batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.width = spec["bottom"][-1] + dim * (len(spec["tables"]) + 1)

    def forward(self, x, pooled):
        vectors, history = pooled
        mixed, _ = self.attention(history, history, history, need_weights=False)
        user = self.norm(history + mixed).mean(dim=1)
        return torch.cat((x, user, vectors.reshape(x.shape[0], -1)), dim=1)


INTERACTIONS = {"dcn": Cross, "cat": Concatenation, "attention": Attention}


class Model(nn.Module):
    def __init__(self, spec, device, generator):
        super().__init__()
        sparse = spec.get("sparse", True)
        self.tables = Tables(spec["tables"], spec["bags"] == "merged", sparse, device, generator)
        self.history = None
        if "history" in spec:
            rows, dim = spec["history"][:2]
            self.history = nn.Embedding(rows, dim, sparse=sparse, device=device,
                                        _weight=torch.empty(rows, dim, device=device).uniform_(-0.05, 0.05, generator=generator))
        self.bottom = perceptron(DENSE_FEATURES, spec["bottom"], False).to(device)
        dot = spec["interaction"] == "dot"
        self.interaction = Dot(spec, device) if dot else INTERACTIONS[spec["interaction"]](spec).to(device)
        self.top = perceptron(self.interaction.width, spec["top"], True).to(device)

    def embedded(self, batch):
        pooled = self.tables(batch["ids"], batch["offsets"])
        return pooled if self.history is None else (pooled, self.history(batch["history"]))

    def dense(self, x, embedded):
        return self.top(self.interaction(self.bottom(x), embedded))

    def forward(self, batch):
        return self.dense(batch["dense"], self.embedded(batch))

    def table_parameters(self):
        return list(self.tables.parameters()) + ([] if self.history is None else list(self.history.parameters()))

    def dense_parameters(self):
        return [p for part in (self.bottom, self.interaction, self.top) for p in part.parameters()]


def optimizer_of(kind, parameters, in_graph):
    name, _, way = kind.partition(" ")
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=0.01)
    if name == "adagrad":
        return torch.optim.Adagrad(parameters, lr=0.01)
    on_gpu = parameters[0].is_cuda
    return torch.optim.Adam(parameters, lr=0.001, capturable=in_graph, **({way: True} if on_gpu else {}))


def drawn_ids(rows, count, skew, device, generator):
    """Ids by Zipf's law, the popular ones in scattered rows."""
    uniform = torch.rand(count, device=device, generator=generator, dtype=torch.float64)
    if skew == 0:
        return (uniform * rows).long().clamp_(max=rows - 1)
    weights = torch.arange(1, rows + 1, device=device, dtype=torch.float64).pow_(-skew).cumsum_(0)
    ranks = torch.searchsorted(weights, uniform * weights[-1]).clamp_(max=rows - 1)
    return (ranks * 1000003 + 17) % rows


class Batches:
    """Some batches on the host, page-locked where there is a GPU, which steps take in turn."""

    def __init__(self, spec, size, device, generator):
        count = 8 if size <= 4096 else 4 if size <= 16384 else 2
        self.all = [self.one(spec, size, device, generator) for _ in range(count)]
        self.turns = itertools.cycle(self.all)

    @staticmethod
    def one(spec, size, device, generator):
        merged, ids, offsets, base, first = spec["bags"] == "merged", [], [], 0, 0
        for rows, _, pooling, skew in spec["tables"]:
            ids.append(drawn_ids(rows, size * pooling, skew, device, generator) + (base if merged else 0))
            offsets.append(torch.arange(0, size * pooling, pooling) + (first if merged else 0))
            base, first = base + rows, first + size * pooling
        batch = {"dense": torch.rand(size, DENSE_FEATURES), "ids": torch.cat(ids).cpu(), "offsets": torch.cat(offsets),
                 "labels": torch.randint(2, (size, 1)).float()}
        if "history" in spec:
            rows, _, length, skew = spec["history"]
            batch["history"] = drawn_ids(rows, size * length, skew, device, generator).view(size, length).cpu()
        return {name: each.pin_memory() if device.type == "cuda" else each for name, each in batch.items()}


class Phase:
    """A part of a step: named for the profiler, and its time on the host added up."""
    host_us = {}

    def __init__(self, name):
        self.name, self.range = name, record_function("## %s ##" % name)

    def __enter__(self):
        self.range.__enter__()
        self.began = time.perf_counter()

    def __exit__(self, *error):
        us = 1e6 * (time.perf_counter() - self.began)
        Phase.host_us[self.name] = Phase.host_us.get(self.name, 0) + us
        self.range.__exit__(*error)


class Training:
    """One model with its optimizers and batches, and the ways to run a step of it."""

    def __init__(self, spec, precision, size, prefetch, device):
        self.spec, self.device, self.precision = spec, device, precision
        # Never the default generator: a capture that fails may leave it unusable.
        generator = torch.Generator(device=device)
        generator.manual_seed(7)
        torch.manual_seed(7)
        self.model = Model(spec, device, generator)
        self.batches = Batches(spec, size, device, generator)
        self.make_optimizers(in_graph=False)
        self.loss = nn.BCEWithLogitsLoss()
        self.copies = torch.cuda.Stream() if prefetch else None
        self.next = None

    def make_optimizers(self, in_graph):
        self.optimizers = [optimizer_of(self.spec["optimizer"], self.model.dense_parameters(), in_graph)]
        self.table_optimizers = [optimizer_of(self.spec["table_optimizer"], self.model.table_parameters(), in_graph)]

    def autocast(self):
        return torch.autocast("cuda" if self.device.type == "cuda" else "cpu", torch.bfloat16) \
            if self.precision == "bf16" else contextlib.nullcontext()

    def copied(self):
        return {name: each.to(self.device, non_blocking=True) for name, each in next(self.batches.turns).items()}

    def input(self):
        """The batch of this step; on two streams, the next one is copied meanwhile, as TorchRec's pipeline does."""
        if self.copies is None:
            with Phase("copy_batch_to_gpu"):
                return self.copied()
        current = self.next or self.prefetched()
        with Phase("wait_for_batch"):
            torch.cuda.current_stream().wait_stream(self.copies)
            for each in current.values():
                each.record_stream(torch.cuda.current_stream())
        self.next = self.prefetched()
        return current

    def prefetched(self):
        with Phase("copy_batch_to_gpu"), torch.cuda.stream(self.copies):
            return self.copied()

    def trained(self, logits_of, labels, optimizers):
        with Phase("zero_grad"):
            for optimizer in optimizers:
                optimizer.zero_grad()
        with Phase("forward"), self.autocast():
            loss = self.loss(logits_of(), labels)
        with Phase("backward"):
            loss.backward()
        with Phase("optimizer"):
            for optimizer in optimizers:
                optimizer.step()

    def step(self):
        self.step_on(self.input())

    def step_on(self, batch):
        self.trained(lambda: self.model(batch), batch["labels"], self.optimizers + self.table_optimizers)

    def dense_step(self, batch, embedded):
        """The dense part alone: from embedded vectors to their gradients, and its optimizer."""
        for each in flat(embedded):
            each.grad = None
        self.trained(lambda: self.model.dense(batch["dense"], embedded), batch["labels"], self.optimizers)

    def embedded_leaves(self, batch):
        with torch.no_grad():
            embedded = self.model.embedded(batch)
        if isinstance(embedded, list):
            return [each.detach().clone().requires_grad_() for each in embedded]
        if isinstance(embedded, tuple):
            return tuple(each.detach().contiguous().requires_grad_() for each in embedded)
        return embedded.detach().contiguous().requires_grad_()


def flat(embedded):
    return [embedded] if torch.is_tensor(embedded) else list(embedded)


class Stopwatch:
    """Times of steps: by CUDA events between them, by the clock over all, and of the host alone."""

    def __init__(self, device, steps):
        self.on_gpu, self.steps = device.type == "cuda", steps

    def sync(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def mark(self):
        if not self.on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, first, second):
        return first.elapsed_time(second) if self.on_gpu else 1000 * (second - first)

    def warm(self, step):
        """Warms up; returns how many steps are to be timed, fewer where they are long."""
        for number in range(8):
            self.sync()
            began = time.perf_counter()
            step()
            self.sync()
            took = time.perf_counter() - began
            if took > 0.2 and number >= 2:
                break
        return max(4, min(self.steps, int(1 / took)))

    def eager(self, step):
        steps = self.warm(step)
        began, marks = time.perf_counter(), [self.mark()]
        for _ in range(steps):
            step()
            marks.append(self.mark())
        self.sync()
        wall = 1000 * (time.perf_counter() - began) / steps
        spread = self.spread([self.between(a, b) for a, b in zip(marks, marks[1:])])
        return dict(spread, ms=round(wall, 4), **self.host(step, min(10, steps)))

    def host(self, step, steps):
        """The host's time to issue a step that begins on an idle GPU, and what of it each phase takes."""
        times, phases = [], []
        for _ in range(steps):
            self.sync()
            Phase.host_us = {}
            began = time.perf_counter()
            step()
            times.append(1000 * (time.perf_counter() - began))
            phases.append(Phase.host_us)
        self.sync()
        return {"host_ms": round(statistics.median(times), 4), "host_ms_least": round(min(times), 4),
                "host_us_by_phase": {name: round(statistics.median(p.get(name, 0) for p in phases), 1) for name in phases[-1]}}

    def replays(self, graph, refresh):
        times = []
        for _ in range(self.steps + 3):
            refresh()
            first = self.mark()
            graph.replay()
            second = self.mark()
            self.sync()
            times.append(self.between(first, second))
        return self.spread(times[3:])

    @staticmethod
    def spread(times):
        median = round(statistics.median(times), 4)
        return {"ms": median, "ms_median": median, "ms_least": round(min(times), 4), "ms_most": round(max(times), 4),
                "steps": len(times)}


def captured(step):
    """One CUDA graph of a step, after warm-up on a stream of its own."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        step()
    return graph


def in_graph(training, watch):
    """A whole step as one CUDA graph; another batch is laid into its input before each replay, outside of the time."""
    training.make_optimizers(in_graph=True)
    batches = [{name: each.to(training.device) for name, each in batch.items()} for batch in training.batches.all[:4]]
    static = {name: each.clone() for name, each in batches[0].items()}
    graph = captured(lambda: training.step_on(static))
    turns = itertools.cycle(batches)

    def refresh():
        for name, each in next(turns).items():
            static[name].copy_(each)
    return watch.replays(graph, refresh)


def dense_alone(training, watch, as_graph):
    training.make_optimizers(as_graph)
    batch = {name: each.to(training.device) for name, each in training.batches.all[0].items()}
    embedded = training.embedded_leaves(batch)

    def step():
        training.dense_step(batch, embedded)
    return watch.replays(captured(step), lambda: None) if as_graph else watch.eager(step)


class Trace:
    """What the profiler wrote of some steps."""

    def __init__(self, path):
        with open(path) as file:
            content = json.load(file)
        events = [e for e in (content if isinstance(content, list) else content["traceEvents"]) if e.get("ph") == "X"]
        marks = [e for e in events if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#")]
        self.steps = max(1, len(marks))
        self.launches = {e["args"]["correlation"]: e for e in events
                         if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
        # Kernels of the steps before may still run when recording begins: those that no step of the trace launched do not count.
        steps = [(e["ts"], e["ts"] + e["dur"]) for e in marks]
        self.gpu = [e for e in events if e.get("cat") in GPU_EVENTS and self.is_of(steps, e)]
        self.phases = sorted((e["ts"], e["ts"] + e["dur"], e["name"].strip("# ")) for e in events
                             if e.get("cat") == "user_annotation" and e["name"].startswith("## "))
        self.outermost = {}
        for e in sorted((e for e in events if e.get("cat") == "cpu_op"), key=lambda e: (e["ts"], -e["dur"])):
            known = self.outermost.setdefault(e["tid"], [])
            if not known or e["ts"] >= known[-1][1]:
                known.append((e["ts"], e["ts"] + e["dur"], e["name"]))

    def is_of(self, steps, event):
        launch = self.launches.get(event["args"].get("correlation"))
        return launch is not None and any(first <= launch["ts"] < end for first, end in steps)

    @staticmethod
    def containing(spans, time):
        at = bisect.bisect_right(spans, (time, float("inf"))) - 1
        return spans[at][2] if at >= 0 and time <= spans[at][1] else ""

    def summed(self, key):
        sums = {}
        for event in self.gpu:
            each = sums.setdefault(key(event), [0, 0])
            each[0] += event["dur"]
            each[1] += 1
        ordered = sorted(sums.items(), key=lambda item: -item[1][0])
        return [[round(us / self.steps, 2), round(n / self.steps, 2)] + list(name) for name, (us, n) in ordered]

    def launched_by(self, event):
        launch = self.launches.get(event["args"].get("correlation"))
        if launch is None:
            return "", ""
        return self.containing(self.phases, launch["ts"]), self.containing(self.outermost.get(launch["tid"], []), launch["ts"])

    def facts(self):
        return {"gpu_busy_us": round(sum(e["dur"] for e in self.gpu) / self.steps, 2), "kernels": round(len(self.gpu) / self.steps, 2),
                "by_operator": self.summed(self.launched_by), "top": self.summed(lambda e: (e["name"][:90],))[:40]}


class Traces:
    """The tar file of all traces, as long as they fit."""

    def __init__(self, path):
        self.file, self.size = tarfile.open(path, "w"), 0

    def add(self, name, path):
        with open(path, "rb") as file:
            packed = gzip.compress(file.read(), 9)
        if self.size + len(packed) > TRACES_AT_MOST:
            return "trace left out: no room"
        with tempfile.NamedTemporaryFile() as copy:
            copy.write(packed)
            copy.flush()
            self.file.add(copy.name, arcname=name)
        self.file.fileobj.flush()
        self.size += len(packed)
        return ""


def profiled(training, watch, name, traces):
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if watch.on_gpu else [])
    with tempfile.TemporaryDirectory() as folder:
        path, marks = os.path.join(folder, "trace.json"), []
        watch.sync()
        with profile(activities=activities, record_shapes=True, on_trace_ready=lambda made: made.export_chrome_trace(path),
                     schedule=schedule(wait=0, warmup=2, active=TRACED_STEPS, repeat=1)) as profiler:
            for number in range(2 + TRACED_STEPS):
                marks.append(watch.mark())
                training.step()
                if number + 1 == 2 + TRACED_STEPS:
                    marks.append(watch.mark())
                if number in (1, 1 + TRACED_STEPS):
                    watch.sync()  # before recording begins and ends
                profiler.step()
        row = dict(watch.spread([watch.between(a, b) for a, b in zip(marks[2:], marks[3:])]), **Trace(path).facts())
        row["trace"], row["note"] = name, traces.add(name, path)
    return row


class Record:
    """The rows so far, in a file that is always whole."""

    def __init__(self, path, device):
        self.path = path
        self.content = {"schema": "shardsim.pytorch_steps/1", "machine": machine(device), "models": [], "steps": [], "failed": []}

    def model(self, name):
        if all(each["name"] != name for each in self.content["models"]):
            self.content["models"].append(dict(name=name, **MODELS[name]))

    def attempt(self, head, how, measure):
        """Adds a row, or why there is none; True if there is one."""
        began = time.perf_counter()
        try:
            self.content["steps"].append(dict(head, **how, graph=how["how"] == "graph", **measure()))
            print("%s: %s ms, %.1f s" % (described(head, how), self.content["steps"][-1]["ms"], time.perf_counter() - began), flush=True)
            return True
        except Exception as error:  # whatever fails, the other cases are still wanted
            text = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
            self.content["failed"].append(dict(head, **how, error=text))
            print("%s: failed: %s" % (described(head, how), text), flush=True)
            return False
        finally:
            self.save()

    def save(self):
        with open(self.path + ".part", "w") as file:
            json.dump(self.content, file, separators=(",", ":"))
        os.replace(self.path + ".part", self.path)


def described(head, how):
    return "%s %s %d%s, %s" % (head["model"], head["precision"], head["batch"], " two streams" if head["prefetch"] else "",
                               " ".join(str(each) for each in how.values()))


def command(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def machine(device):
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return {"gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else "none", "torch": torch.__version__,
            "cuda": torch.version.cuda, "python": platform.python_version(), "cpu": names[0] if names else "", "cpus": os.cpu_count(),
            "nvidia_smi": command("nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit",
                                  "--format=csv,noheader")}


def set_precision(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"


def measure_case(head, device, watch, record, traces):
    spec, precision, size, prefetch = MODELS[head["model"]], head["precision"], head["batch"], head["prefetch"]
    set_precision(precision)
    training = Training(spec, precision, size, prefetch, device)
    name = "%s_%s%s_b%d.json.gz" % (head["model"], precision, "_prefetch" if prefetch else "", size)
    if record.attempt(head, dict(part="step", how="eager"), lambda: watch.eager(training.step)):
        record.attempt(head, dict(part="step", how="profiled"), lambda: profiled(training, watch, name, traces))
    if prefetch:
        return
    record.attempt(head, dict(part="dense", how="eager"), lambda: dense_alone(training, watch, False))
    if watch.on_gpu:
        record.attempt(head, dict(part="dense", how="graph"), lambda: dense_alone(training, watch, True))


def measure_graph(head, device, watch, record):
    set_precision(head["precision"])
    training = Training(MODELS[head["model"]], head["precision"], head["batch"], False, device)
    return record.attempt(head, dict(part="step", how="graph"), lambda: in_graph(training, watch))


class Budget:
    def __init__(self, seconds):
        self.until, self.dropped = time.monotonic() + seconds, 0

    def left(self):
        return self.until - time.monotonic()

    def allows(self, reserve):
        if self.left() > reserve:
            return True
        self.dropped += 1
        return False


def guarded(record, head, work):
    """Runs the work of a case; a model that cannot even be made is a failure that is noted."""
    try:
        return work()
    except Exception as error:
        record.content["failed"].append(dict(head, error=str(error).splitlines()[0][:300] if str(error) else type(error).__name__))
        record.save()
        return False
    finally:
        gc.collect()
        with contextlib.suppress(Exception):  # after a capture that failed
            torch.cuda.empty_cache()


def graph_steps(heads, device, watch, record, budget):
    """Last, because a capture that fails leaves the allocator in a bad state: updates that wait for the GPU cannot be captured."""
    failed = set()
    for head in heads:
        spec = MODELS[head["model"]]
        kind = (spec["table_optimizer"], spec.get("sparse", True), spec["bags"])
        if kind not in failed and budget.allows(2):
            if not guarded(record, head, lambda: measure_graph(head, device, watch, record)):
                failed.add(kind)


def run(given, device):
    budget, watch = Budget(given.seconds), Stopwatch(device, 4 if given.small else STEPS)
    record, traces = Record(given.output, device), Traces(given.traces)
    heads = [dict(model=m, precision=p, batch=b, prefetch=f) for m, p, b, f in cases()]
    if given.small:
        heads = [dict(each, batch=64) for each in heads if not each["prefetch"] or device.type == "cuda"]
    main = 21  # cases of the first kinds; what follows are variants
    begun = []
    for part, reserve in ((heads[:main], 0.3), (heads[main:], 0.18)):
        for head in part:
            if budget.allows(reserve * given.seconds):
                record.model(head["model"])
                guarded(record, head, lambda: measure_case(head, device, watch, record, traces))
                begun.append(head)
    if watch.on_gpu:
        graph_steps([head for head in begun if not head["prefetch"]], device, watch, record, budget)
    traces.file.close()
    record.content["seconds"], record.content["dropped_for_time"] = round(given.seconds - budget.left(), 1), budget.dropped
    record.save()
    summary(record.content)


def summary(content):
    print("= %s, PyTorch %s: %d rows, %d failed, %d left out for time, %s s" %
          (content["machine"]["gpu"], content["machine"]["torch"], len(content["steps"]), len(content["failed"]),
           content["dropped_for_time"], content["seconds"]))
    cells = {}
    for row in content["steps"]:
        cells.setdefault(described(row, {}), {})[row["part"] + " " + row["how"]] = row
    for name, rows in cells.items():
        times = ", ".join("%s %.3f" % (how, row["ms"]) for how, row in rows.items())
        busy = rows.get("step profiled", {})
        print("= %s %s ms; busy %s us, %s kernels" % (name, times, busy.get("gpu_busy_us"), busy.get("kernels")))
    for row in content["failed"][:12]:
        print("= failed: %s" % row)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, required=True, help="no case begins after that")
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("--traces", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="batches of 64, to try the script")
    given = parser.parse_args()
    run(given, torch.device(given.device))


if __name__ == "__main__":
    main()
