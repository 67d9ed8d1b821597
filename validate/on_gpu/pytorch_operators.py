#!/usr/bin/env python3
"""PyTorch's operators alone on one GPU, as training steps of recommendation models have them: GPU time, kernels and host time.

pytorch_operators.py --seconds S -o operators.csv [--device cpu --small]

Columns are in docs/formats/measurements.md, Operators of PyTorch. Kinds of operators take turns, so that a short time leaves out
sizes and not kinds.
"""
import argparse
import bisect
import contextlib
import csv
import gc
import itertools
import json
import os
import statistics
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function

COLUMNS = ["op", "m", "n", "k", "batch", "count", "precision", "bytes", "flop", "gpu_us_median", "gpu_us_least", "gpu_us_most",
           "warm_us", "kernel_us", "kernels", "kernel_names", "host_us_median", "host_us_least", "notes"]
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "int64": torch.int64,
         "int8": torch.int8}
SIZE = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "int64": 8, "int8": 1}
REPETITIONS = 20
KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30


class Case:
    """One operator of one shape. `make(device)` returns the call; bytes are those it must move, flop those of its products."""

    def __init__(self, op, make, precision, shape, moved, flop=0, notes=""):
        self.op, self.make, self.precision, self.notes = op, make, precision, notes
        self.row = dict(shape, op=op, precision=precision, bytes=int(moved), flop=int(flop), notes=notes)


def random(device, precision, *shape):
    return torch.rand(*shape, device=device).sub_(0.5).to(TYPES[precision])


def gradient_of(output, inputs):
    """A call that runs the backward of `output` alone, by the engine of autograd."""
    upstream = torch.rand_like(output)
    return lambda: torch.autograd.grad(output, inputs, upstream, retain_graph=True)


# Products.

LAYERS = [(512, 13), (256, 512), (128, 256), (1024, 479), (1024, 480), (512, 1024), (1, 256), (64, 256), (512, 415), (1024, 1024),
          (256, 1344), (1344, 256), (2048, 4096), (4096, 3520), (192, 64), (1, 1024), (512, 256), (64, 64)]


def linear_cases():
    for batch, precision, (out, width) in itertools.product((4096, 16384, 1024, 65536), ("tf32", "bf16", "fp32", "fp16"), LAYERS):
        if batch * out * width > 3e11 or (precision == "fp16" and batch != 4096) or (precision == "fp32" and batch == 65536):
            continue
        shape, size = dict(m=batch, n=out, k=width), SIZE[precision]
        moved, flop = size * (batch * out + batch * width + out * width), 2 * batch * out * width

        def forward(device, batch=batch, out=out, width=width, precision=precision):
            x, w, b = (random(device, precision, *s) for s in ((batch, width), (out, width), (out,)))
            return lambda: functional.linear(x, w, b)

        def of_input(device, batch=batch, out=out, width=width, precision=precision):
            dy, w = random(device, precision, batch, out), random(device, precision, out, width)
            return lambda: dy.mm(w)

        def of_weight(device, batch=batch, out=out, width=width, precision=precision):
            dy, x = random(device, precision, batch, out), random(device, precision, batch, width)
            return lambda: dy.t().mm(x)
        yield Case("linear", forward, precision, shape, moved, flop)
        yield Case("linear backward, weight", of_weight, precision, shape, moved, flop)
        yield Case("linear backward, input", of_input, precision, shape, moved, flop)


def bmm_cases():
    for batch, precision, vectors, dim in itertools.product((16384, 2048), ("tf32", "fp32", "bf16"), (27, 9, 28, 60), (128, 64, 16)):
        shape, size = dict(batch=batch, m=vectors, n=vectors, k=dim), SIZE[precision]
        moved = size * batch * (vectors * dim + vectors * vectors)
        flop = 2 * batch * vectors * vectors * dim

        def forward(device, batch=batch, vectors=vectors, dim=dim, precision=precision):
            x = random(device, precision, batch, vectors, dim)
            return lambda: torch.bmm(x, x.transpose(1, 2))

        def backward(device, batch=batch, vectors=vectors, dim=dim, precision=precision):
            x = random(device, precision, batch, vectors, dim).requires_grad_()
            return gradient_of(torch.bmm(x, x.transpose(1, 2)), [x])
        yield Case("bmm", forward, precision, shape, moved, flop)
        yield Case("bmm backward", backward, precision, shape, 3 * moved, 2 * flop, "both products, and their sum")


# Index, concatenation, transposition.

def triangle_cases():
    for batch, precision, vectors in itertools.product((16384, 2048, 65536), ("fp32", "bf16"), (27, 9, 60)):
        pairs, size = vectors * (vectors - 1) // 2, SIZE[precision]

        def forward(device, batch=batch, vectors=vectors, precision=precision):
            z, at = random(device, precision, batch, vectors, vectors), torch.tril_indices(vectors, vectors, -1, device=device)
            return lambda: z[:, at[0], at[1]]

        def backward(device, batch=batch, vectors=vectors, precision=precision):
            z = random(device, precision, batch, vectors, vectors).requires_grad_()
            at = torch.tril_indices(vectors, vectors, -1, device=device)
            return gradient_of(z[:, at[0], at[1]], [z])
        shape = dict(batch=batch, m=vectors, n=vectors, count=pairs)
        yield Case("lower triangle", forward, precision, shape, 2 * size * batch * pairs)
        yield Case("lower triangle backward", backward, precision, shape, size * batch * (pairs + vectors * vectors))


def cat_cases():
    for batch, count, dim, precision in itertools.product((16384, 2048), (2, 27, 9, 60), (64, 128, 16), ("fp32", "bf16")):
        def forward(device, batch=batch, count=count, dim=dim, precision=precision):
            parts = [random(device, precision, batch, dim) for _ in range(count)]
            return lambda: torch.cat(parts, dim=1)

        def backward(device, batch=batch, count=count, dim=dim, precision=precision):
            parts = [random(device, precision, batch, dim).requires_grad_() for _ in range(count)]
            grad = gradient_of(torch.cat(parts, dim=1), parts)
            return lambda: [each.contiguous() for each in grad()]
        shape, moved = dict(batch=batch, count=count, n=dim), 2 * SIZE[precision] * batch * count * dim
        yield Case("cat", forward, precision, shape, moved)
        if precision == "fp32":
            yield Case("cat backward", backward, precision, shape, moved, notes="slices, each made contiguous")


def transposition_cases():
    for batch, count, dim in itertools.product((16384, 2048), (26, 8), (128, 64)):
        def make(device, batch=batch, count=count, dim=dim):
            x = random(device, "fp32", count, batch, dim)
            return lambda: x.transpose(0, 1).contiguous()
        yield Case("transposition", make, "fp32", dict(batch=batch, count=count, n=dim), 8 * batch * count * dim)


# Element by element.

def swish_norm(x, norm):
    return x * torch.sigmoid(norm(x))


ELEMENTWISE = {  # op: (precision, tensors read and written, call of x, y)
    "relu": ("fp32", 2, lambda x, y: lambda: torch.relu(x)),
    "threshold backward": ("fp32", 3, lambda x, y: lambda: torch.ops.aten.threshold_backward(x, y, 0)),
    "add": ("fp32", 3, lambda x, y: lambda: x + y),
    "mul": ("fp32", 3, lambda x, y: lambda: x * y),
    "mul by number": ("fp32", 2, lambda x, y: lambda: x * 0.5),
    "add in place": ("fp32", 3, lambda x, y: lambda: x.add_(y)),
    "sigmoid": ("fp32", 2, lambda x, y: lambda: torch.sigmoid(x)),
    "copy": ("fp32", 2, lambda x, y: lambda: x.clone()),
    "zero": ("fp32", 1, lambda x, y: lambda: x.zero_()),
    "to bf16": ("fp32", 1.5, lambda x, y: lambda: x.to(torch.bfloat16)),
    "to fp32": ("bf16", 3, lambda x, y: lambda: x.float()),
    "relu ": ("bf16", 2, lambda x, y: lambda: torch.relu(x)),
    "mul ": ("bf16", 3, lambda x, y: lambda: x * y),
    "add ": ("bf16", 3, lambda x, y: lambda: x + y),
    "threshold backward ": ("bf16", 3, lambda x, y: lambda: torch.ops.aten.threshold_backward(x, y, 0)),
}


def elementwise_cases():
    for size, op in itertools.product((64 * MiB, MiB, 16 * MiB, 256 * KiB, 64 * KiB, 4 * MiB, 256 * MiB, GiB), ELEMENTWISE):
        precision, tensors, call = ELEMENTWISE[op]

        def make(device, size=size, precision=precision, call=call):
            return call(random(device, precision, size // SIZE[precision]), random(device, precision, size // SIZE[precision]))
        yield Case(op.strip(), make, precision, dict(count=size // SIZE[precision]), tensors * size)


def broadcast_cases():
    for batch, width in itertools.product((16384, 2048), (1344, 64)):
        def make(device, batch=batch, width=width):
            x, bias = random(device, "fp32", batch, width), random(device, "fp32", width)
            return lambda: x + bias
        yield Case("add row", make, "fp32", dict(batch=batch, n=width), 8 * batch * width)


def norm_cases():
    for batch, width, precision in itertools.product((16384, 102400, 2048), (64, 512, 1344), ("fp32", "bf16")):
        def forward(device, batch=batch, width=width, precision=precision):
            x, norm = random(device, precision, batch, width), nn.LayerNorm(width, device=device, dtype=TYPES[precision])
            return lambda: norm(x)

        def backward(device, batch=batch, width=width, precision=precision):
            x = random(device, precision, batch, width).requires_grad_()
            norm = nn.LayerNorm(width, device=device, dtype=TYPES[precision])
            return gradient_of(norm(x), [x] + list(norm.parameters()))

        def swish(device, batch=batch, width=width, precision=precision):
            x, norm = random(device, precision, batch, width), nn.LayerNorm(width, device=device, dtype=TYPES[precision])
            return lambda: swish_norm(x, norm)

        def swish_backward(device, batch=batch, width=width, precision=precision):
            x = random(device, precision, batch, width).requires_grad_()
            norm = nn.LayerNorm(width, device=device, dtype=TYPES[precision])
            return gradient_of(swish_norm(x, norm), [x] + list(norm.parameters()))
        shape, moved = dict(batch=batch, n=width), SIZE[precision] * batch * width
        yield Case("layer norm", forward, precision, shape, 2 * moved)
        yield Case("layer norm backward", backward, precision, shape, 3 * moved)
        if precision == "fp32":
            yield Case("swish layer norm", swish, precision, shape, 7 * moved, notes="x * sigmoid(layer norm(x))")
            yield Case("swish layer norm backward", swish_backward, precision, shape, 13 * moved)


def reduction_cases():
    for batch, width, precision in itertools.product((16384, 4096, 65536, 1024), (256, 1024, 1, 64, 4096), ("fp32", "bf16")):
        def make(device, batch=batch, width=width, precision=precision):
            x = random(device, precision, batch, width)
            return lambda: x.sum(0)
        yield Case("sum over rows", make, precision, dict(batch=batch, n=width), SIZE[precision] * batch * width,
                   notes="the gradient of a bias")
    for batch, length in itertools.product((1024, 4096), (100, 200)):
        def mean(device, batch=batch, length=length):
            x = random(device, "fp32", batch, length, 64)
            return lambda: x.mean(1)
        yield Case("mean over sequence", mean, "fp32", dict(batch=batch, count=length, n=64), 4 * batch * length * 64)


def loss_cases():
    for batch, backward in itertools.product((16384, 1024, 65536), (False, True)):
        def make(device, batch=batch, backward=backward):
            x, y = random(device, "fp32", batch, 1), torch.randint(2, (batch, 1), device=device).float()
            if not backward:
                return lambda: functional.binary_cross_entropy_with_logits(x, y)
            x.requires_grad_()
            return gradient_of(functional.binary_cross_entropy_with_logits(x, y), [x])
        yield Case("bce with logits" + backward * " backward", make, "fp32", dict(batch=batch), (8 + 4 * backward) * batch)


# Attention, embeddings, sorts.

def attention_cases():
    for batch, (heads, dim), length, precision in itertools.product((1024, 256, 4096), ((4, 16), (2, 32), (4, 64)), (100, 200, 50),
                                                                    ("tf32", "bf16")):
        shape = dict(batch=batch, m=length, n=heads, k=dim)
        moved, flop = 4 * SIZE[precision] * batch * heads * length * dim, 4 * batch * heads * length * length * dim

        def inputs(device, batch=batch, heads=heads, dim=dim, length=length, precision=precision):
            return [random(device, precision, batch, length, heads, dim).transpose(1, 2).detach() for _ in range(3)]

        def forward(device, inputs=inputs):
            q, k, v = inputs(device)
            return lambda: functional.scaled_dot_product_attention(q, k, v)

        def backward(device, inputs=inputs):
            each = [x.requires_grad_() for x in inputs(device)]
            return gradient_of(functional.scaled_dot_product_attention(*each), each)
        yield Case("attention", forward, precision, shape, moved, flop, "m: length, n: heads, k: dim of a head")
        yield Case("attention backward", backward, precision, shape, 2 * moved, 2.5 * flop)


def bag_cases():
    for batch, pooling, dim in itertools.product((16384, 2048, 65536), (1, 10), (128, 64)):
        def made(device, grad, sparse, batch=batch, pooling=pooling, dim=dim):
            weight = torch.rand(1000000, dim, device=device)
            ids = torch.randint(1000000, (batch * pooling,), device=device)
            offsets = torch.arange(0, batch * pooling, pooling, device=device)
            if not grad:
                return lambda: functional.embedding_bag(ids, weight, offsets, mode="sum", sparse=sparse)
            weight.requires_grad_()
            return gradient_of(functional.embedding_bag(ids, weight, offsets, mode="sum", sparse=sparse), [weight])

        def update(device, made=made, dim=dim):
            weight = torch.rand(1000000, dim, device=device)
            grad = made(device, True, True)()[0]
            return lambda: weight.add_(grad, alpha=-0.01)
        shape, moved = dict(batch=batch, count=pooling, n=dim), 4 * dim * batch * (pooling + 1)
        yield Case("embedding bag", lambda device, made=made: made(device, False, True), "fp32", shape, moved)
        yield Case("embedding bag backward, sparse", lambda device, made=made: made(device, True, True), "fp32", shape, moved)
        yield Case("sparse sgd of a table", update, "fp32", shape, 12 * dim * batch * pooling)
        if batch <= 16384:
            yield Case("embedding bag backward, dense", lambda device, made=made: made(device, True, False), "fp32", shape,
                       4 * dim * (1000000 + batch * (pooling + 1)), notes="a gradient of 1,000,000 rows")


def sort_cases():
    for count in (1 << 20, 1 << 14, 1 << 17, 1 << 23):
        def make(device, count=count):
            keys = torch.randint(1 << 24, (count,), device=device)
            return lambda: torch.sort(keys)
        yield Case("sort", make, "int64", dict(count=count), 32 * count, notes="keys below 2^24 with their places")


# Optimizers, copies.

OPTIMIZERS = {"sgd foreach": 3, "adagrad foreach": 5, "adam foreach": 7, "sgd fused": 3, "adam fused": 7}


def optimizer_named(name, parameters):
    kind, _, way = name.partition(" ")
    on_gpu = {way: True} if parameters[0].is_cuda else {}
    return {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "adam": torch.optim.Adam}[kind](parameters, lr=0.001, **on_gpu)


def optimizer_cases():
    for elements, tensors, name in itertools.product((3000000, 100000, 50000000), (16, 2, 64), OPTIMIZERS):
        def make(device, elements=elements, tensors=tensors, name=name):
            parameters = [nn.Parameter(torch.rand(elements // tensors, device=device)) for _ in range(tensors)]
            for each in parameters:
                each.grad = torch.rand_like(each)
            return optimizer_named(name, parameters).step
        yield Case(name, make, "fp32", dict(count=tensors, n=elements // tensors), 4 * OPTIMIZERS[name] * elements,
                   notes="count: parameters, n: elements of each")


def pinned(size, device):
    host = torch.ones(size, dtype=torch.int8)
    return host.pin_memory() if device.type == "cuda" else host


def copy_cases():
    sizes = (MiB, 64 * KiB, 16 * MiB, 4 * KiB, 256 * KiB, 4 * MiB, 64 * MiB, 16 * KiB, 256 * MiB, GiB)
    for size in sizes:
        def to_device(device, size=size):
            host = pinned(size, device)
            return lambda: host.to(device, non_blocking=True)

        def from_pageable(device, size=size):
            host = torch.ones(size, dtype=torch.int8)
            return lambda: host.to(device)

        def to_host(device, size=size):
            host, there = pinned(size, device), torch.ones(size, dtype=torch.int8, device=device)
            return lambda: host.copy_(there, non_blocking=True)

        def inside(device, size=size):
            a, b = (torch.ones(size, dtype=torch.int8, device=device) for _ in range(2))
            return lambda: b.copy_(a)
        yield Case("copy to the device, page-locked", to_device, "int8", dict(count=size), size)
        yield Case("copy to the host, page-locked", to_host, "int8", dict(count=size), size)
        yield Case("copy inside the device", inside, "int8", dict(count=size), 2 * size)
        if size <= 64 * MiB:
            yield Case("copy to the device, pageable", from_pageable, "int8", dict(count=size), size)


KINDS = [linear_cases, bmm_cases, triangle_cases, elementwise_cases, optimizer_cases, cat_cases, reduction_cases, attention_cases,
         copy_cases, bag_cases, norm_cases, loss_cases, sort_cases, transposition_cases, broadcast_cases]


def cases_in_turns():
    """Kinds take turns; those with more cases take several in a turn, so that all come to their end together."""
    kinds = [list(kind()) for kind in KINDS]
    ordered = [((at + 0.5) / len(kind), number, case) for number, kind in enumerate(kinds) for at, case in enumerate(kind)]
    return [case for _, _, case in sorted(ordered, key=lambda each: each[:2])]


class Clock:
    def __init__(self, device):
        self.device, self.on_gpu = device, device.type == "cuda"
        cache = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0) or 64 * MiB if self.on_gpu else MiB
        self.swept = torch.empty(2 * cache, dtype=torch.int8, device=device)

    def sync(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def mark(self):
        if not self.on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def us(self, first, second):
        return 1000 * first.elapsed_time(second) if self.on_gpu else 1e6 * (second - first)

    def hide(self, host_us):
        """Keeps the GPU busy while the host issues what is timed."""
        if self.on_gpu:
            torch.cuda._sleep(int(2000 * min(3000, 1.5 * host_us + 30)))

    def host(self, call, calls=30):
        """The host's us to issue a call, calls back to back; (median, least) of three rounds."""
        times = []
        for _ in range(3):
            self.sync()
            began = time.perf_counter()
            for _ in range(calls):
                call()
            times.append(1e6 * (time.perf_counter() - began) / calls)
        self.sync()
        return statistics.median(times), min(times)

    def gpu(self, call, host_us, repetitions):
        """Times between two events around a call, L2 flushed before it."""
        times = []
        for _ in range(repetitions):
            self.swept.fill_(1)
            self.hide(host_us)
            first = self.mark()
            call()
            times.append((first, self.mark()))
            self.sync()
        return [self.us(*each) for each in times]

    def warm(self, call, host_us, calls=10):
        """The mean of calls back to back, on the same memory."""
        self.hide(calls * host_us)
        first = self.mark()
        for _ in range(calls):
            call()
        second = self.mark()
        self.sync()
        return self.us(first, second) / calls


def set_precision(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"


def measured(case, clock):
    set_precision(case.precision)
    call = case.make(clock.device)
    for _ in range(3):
        call()
    clock.sync()
    began = time.perf_counter()
    call()
    clock.sync()
    once = time.perf_counter() - began
    # A long call is repeated less often. Its host time is of few calls, so that they do not fill the queue of launches.
    few = once > 0.004
    host = clock.host(call, 4 if few else 30)
    times = clock.gpu(call, host[0], 5 if few else REPETITIONS)
    warm = clock.warm(call, host[0], 3 if few else 10)
    return dict(case.row, gpu_us_median="%.5g" % statistics.median(times), gpu_us_least="%.5g" % min(times),
                gpu_us_most="%.5g" % max(times), warm_us="%.5g" % warm, host_us_median="%.5g" % host[0], host_us_least="%.5g" % host[1])


# What the host takes, by kind of work.

def host_rows(clock):
    """Yields (op, n, call, notes). Calls are issued back to back, on tensors so small that the GPU keeps up."""
    device = clock.device
    x, w, b = (torch.rand(*s, device=device) for s in ((64, 64), (64, 64), (64,)))
    xg, wg, bg = (each.clone().requires_grad_() for each in (x, w, b))
    linear, norm = nn.Linear(64, 64).to(device), nn.LayerNorm(64).to(device)
    tril = torch.tril_indices(8, 8, -1, device=device)
    z, parts = torch.rand(8, 8, 8, device=device), [torch.rand(64, 8, device=device) for _ in range(60)]
    table, ids = torch.rand(1000, 16, device=device), torch.randint(1000, (64,), device=device)
    offsets, labels = torch.arange(64, device=device), torch.rand(64, 64, device=device)
    zg, tg = z.clone().requires_grad_(), table.clone().requires_grad_()
    ops = {
        "relu": (lambda: torch.relu(x), lambda: torch.relu(xg)),
        "add": (lambda: x + x, lambda: xg + xg),
        "mul": (lambda: x * x, lambda: xg * xg),
        "sigmoid": (lambda: torch.sigmoid(x), lambda: torch.sigmoid(xg)),
        "sum over rows": (lambda: x.sum(0), lambda: xg.sum(0)),
        "mm": (lambda: x.mm(w), lambda: xg.mm(wg)),
        "linear": (lambda: functional.linear(x, w, b), lambda: functional.linear(xg, wg, bg)),
        "linear without bias": (lambda: functional.linear(x, w), lambda: functional.linear(xg, wg)),
        "bmm": (lambda: torch.bmm(z, z), lambda: torch.bmm(zg, zg)),
        "lower triangle": (lambda: z[:, tril[0], tril[1]], lambda: zg[:, tril[0], tril[1]]),
        "cat of 2": (lambda: torch.cat(parts[:2], 1), lambda: torch.cat([xg, xg], 1)),
        "cat of 27": (lambda: torch.cat(parts[:27], 1), lambda: torch.cat([xg] * 27, 1)),
        "cat of 60": (lambda: torch.cat(parts, 1), lambda: torch.cat([xg] * 60, 1)),
        "layer norm": (lambda: norm(x), lambda: norm(xg)),
        "embedding bag": (lambda: functional.embedding_bag(ids, table, offsets, mode="sum", sparse=True),
                          lambda: functional.embedding_bag(ids, tg, offsets, mode="sum", sparse=True)),
        "bce with logits": (lambda: functional.binary_cross_entropy_with_logits(x, labels),
                            lambda: functional.binary_cross_entropy_with_logits(xg, labels)),
        "view": (lambda: x.view(32, 128), lambda: xg.view(32, 128)),
        "slice": (lambda: x[3:9], lambda: xg[3:9]),
        "transpose": (lambda: x.t(), lambda: xg.t()),
    }
    for name, (plain, recorded) in ops.items():
        def without_grad(plain=plain):
            with torch.no_grad():
                plain()
        yield "host: " + name, None, without_grad, "under no_grad, which it enters itself"
        yield "host: " + name + ", plain", None, plain, "inputs that need no gradient"
        yield "host: " + name + ", recorded", None, recorded, "inputs that need gradients"

        def casting(recorded=recorded):
            with torch.autocast(device.type, torch.bfloat16):
                recorded()
        yield "host: " + name + ", autocast", None, casting, "recorded, under bf16 autocast, which it enters itself"
    yield "host: nothing under no_grad", None, lambda: entered(torch.no_grad), ""
    yield "host: nothing under autocast", None, lambda: entered(lambda: torch.autocast(device.type, torch.bfloat16)), ""
    yield "host: module linear", None, lambda: linear(xg), "nn.Linear, recorded"
    yield "host: empty", None, lambda: torch.empty(64, 64, device=device), "an allocation"
    yield "host: zeros", None, lambda: torch.zeros(64, 64, device=device), ""
    yield "host: record_function", None, lambda: entered(lambda: record_function("## phase ##")), ""
    yield from host_backward_rows(xg, wg, bg)
    yield from host_optimizer_rows(device)
    if clock.on_gpu:
        yield from host_device_rows(device)


def entered(make):
    with make():
        pass


def host_backward_rows(xg, wg, bg):
    def chain(of, count):
        y = xg
        for _ in range(count):
            y = of(y)
        return y
    of = {"relu": torch.relu, "mul": lambda y: y * 1.01, "linear": lambda y: functional.linear(y, wg, bg),
          "linear and relu": lambda y: torch.relu(functional.linear(y, wg, bg))}
    for name, each in of.items():
        for count in (1, 10, 40):
            output = chain(each, count)
            upstream = torch.ones_like(output)

            def backward(output=output, upstream=upstream):
                output.backward(upstream, retain_graph=True)
            yield "host: backward of " + name, count, backward, "a chain of n; gradients are accumulated into .grad"
            inputs = [xg] if name in ("relu", "mul") else [xg, wg, bg]
            yield "host: gradient of " + name, count, lambda o=output, u=upstream, i=inputs: torch.autograd.grad(
                o, i, u, retain_graph=True), "a chain of n, by autograd.grad"


def host_optimizer_rows(device):
    for name, count in itertools.product(list(OPTIMIZERS) + ["sgd sparse", "adagrad sparse"], (1, 8, 32)):
        sparse = name.endswith("sparse")
        parameters = [nn.Parameter(torch.rand(64, 16, device=device)) for _ in range(count)]
        for each in parameters:
            each.grad = torch.sparse_coo_tensor(torch.randint(64, (1, 32), device=device), torch.rand(32, 16, device=device),
                                                (64, 16)) if sparse else torch.rand_like(each)
        step = optimizer_named(name.replace(" sparse", " "), parameters).step if not sparse else \
            {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}[name.split()[0]](parameters, lr=0.01).step
        yield "host: step of " + name, count, step, "n parameters"


def host_device_rows(device):
    host = torch.rand(1024).pin_memory()
    there, pageable = host.to(device), torch.rand(1024)
    other, event = torch.cuda.Stream(), torch.cuda.Event()
    yield "host: to the device, page-locked", None, lambda: host.to(device, non_blocking=True), "4 KiB, not blocking"
    yield "host: to the device, pageable", None, lambda: pageable.to(device), "4 KiB"
    yield "host: copy inside the device", None, lambda: there.copy_(there), "4 KiB"
    yield "host: item", None, lambda: there[0].item(), "waits for the GPU"
    yield "host: event", None, event.record, ""
    yield "host: wait_stream", None, lambda: torch.cuda.current_stream().wait_stream(other), ""
    yield "host: stream entered", None, lambda: entered(lambda: torch.cuda.stream(other)), ""
    yield "host: record_stream", None, lambda: there.record_stream(torch.cuda.current_stream()), ""
    yield "host: synchronize", None, torch.cuda.synchronize, "nothing to wait for"


def host_measured(clock, write):
    set_precision("tf32")
    for op, number, call, notes in host_rows(clock):
        try:
            for _ in range(5):
                call()
            median, least = clock.host(call, 20 if number and number > 8 else 60)
            write(dict(op=op, n=number or "", host_us_median="%.5g" % median, host_us_least="%.5g" % least, notes=notes))
        except Exception as error:
            write(dict(op=op, n=number or "", notes="failed: " + first_line(error)))


# Graphs, and rows read from the host's memory.

def graph_rows(clock, write):
    """Replays of graphs of n equal kernels: the time of each next one is the kernel and the gap before it."""
    for name, elements, count in itertools.product(("add", "relu"), (256, 1 << 20), (1, 10, 100, 500)):
        x = torch.rand(elements, device=clock.device)
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        work = (lambda: x.add_(1)) if name == "add" else (lambda: torch.relu_(x))
        work()
        clock.sync()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(count):
                work()
        host = clock.host(graph.replay, 20)
        times = clock.gpu(graph.replay, host[0], REPETITIONS)
        write(dict(op="graph of " + name, count=count, n=elements, precision="fp32", bytes=8 * elements * count,
                   gpu_us_median="%.5g" % statistics.median(times), gpu_us_least="%.5g" % min(times), gpu_us_most="%.5g" % max(times),
                   warm_us="%.5g" % clock.warm(graph.replay, host[0]), host_us_median="%.5g" % host[0],
                   host_us_least="%.5g" % host[1], notes="count kernels, one after the other"))


GATHER = r"""
extern "C" __global__ void gather(const float4* rows, const long long* ids, float4* sums, long long count, int words) {
  const long long threads = (long long)gridDim.x * blockDim.x;
  const int lanes = words < 32 ? words : 32;
  const long long me = ((long long)blockIdx.x * blockDim.x + threadIdx.x);
  for (long long row = me / lanes; row < count; row += threads / lanes) {
    const float4* from = rows + ids[row] * words;
    for (int word = me % lanes; word < words; word += lanes) sums[row * words + word] = from[word];
  }
}
"""


def gather_rows(clock, write, budget):
    """Rows at random from page-locked memory of the host, as the lookup of a table under UVM reads them, by a kernel of CuPy."""
    try:
        import cupy
        kernel = cupy.RawKernel(GATHER, "gather")
        size = 2 * GiB
        host = torch.empty(size // 4, dtype=torch.float32, pin_memory=True).fill_(1)
        inside = torch.ones(size // 4, dtype=torch.float32, device=clock.device)
        out = torch.empty(128 * MiB, dtype=torch.float32, device=clock.device)
    except Exception as error:
        return write(dict(op="rows from the host's memory", notes="left out: " + first_line(error)))
    for memory, row_bytes, count in itertools.product((host, inside), (256, 64, 512, 128, 2048, 1024), (65536, 4096, 1 << 19, 1024)):
        if not budget.allows(0):
            return
        if count * row_bytes > 512 * MiB:
            continue
        ids = torch.randint(size // row_bytes, (count,), device=clock.device)
        blocks = min(132 * 8, -(-count * min(32, row_bytes // 16) // 256))

        def call(memory=memory, ids=ids, count=count, row_bytes=row_bytes, blocks=blocks):
            # CuPy's and PyTorch's current stream are both the default one.
            kernel((blocks,), (256,), (memory.data_ptr(), ids.data_ptr(), out.data_ptr(), count, cupy.int32(row_bytes // 16)))
        name = "rows from the host's memory" if memory is host else "rows from the device's memory"
        try:
            call()
            times = clock.gpu(call, 30, 8)
            write(dict(op=name, count=count, n=row_bytes, precision="fp32", bytes=count * row_bytes,
                       gpu_us_median="%.5g" % statistics.median(times), gpu_us_least="%.5g" % min(times),
                       gpu_us_most="%.5g" % max(times), notes="count rows of n bytes, 16 bytes a lane, from 2 GiB"))
        except Exception as error:
            return write(dict(op=name, notes="failed: " + first_line(error)))


# Which kernels an operator runs.

class Kernels:
    """The kernels of the cases of one profile, by the number of the case."""

    def __init__(self, path):
        with open(path) as file:
            content = json.load(file)
        events = [e for e in (content if isinstance(content, list) else content["traceEvents"]) if e.get("ph") == "X"]
        spans = sorted((e["ts"], e["ts"] + e["dur"], int(e["name"][5:])) for e in events
                       if e.get("cat") == "user_annotation" and e["name"].startswith("case:"))
        launches = {e["args"]["correlation"]: e["ts"] for e in events
                    if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
        self.of = {}
        for event in events:
            if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
                continue
            launched = launches.get(event["args"].get("correlation"), -1)
            at = bisect.bisect_right(spans, (launched, float("inf"), 0)) - 1
            if at >= 0 and launched <= spans[at][1]:
                self.of.setdefault(spans[at][2], []).append(event)

    def columns(self, number, calls):
        events = self.of.get(number, [])
        names = {}
        for event in events:
            each = names.setdefault(event["name"][:110], [0, 0])
            each[0] += event["dur"] / calls
            each[1] += 1
        text = "; ".join("%.4g us x %g %s" % (us, n / calls, name) for name, (us, n) in sorted(names.items(), key=lambda i: -i[1][0]))
        return {"kernel_us": "%.5g" % (sum(e["dur"] for e in events) / calls), "kernels": "%g" % (len(events) / calls),
                "kernel_names": text.replace(",", " ")}


PROFILED_CALLS = 3


def kernels_of(cases, clock):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for number, case in enumerate(cases):
            if case.op.startswith("copy to"):
                continue
            with contextlib.suppress(Exception):
                set_precision(case.precision)
                call = case.make(clock.device)
                call()
                for _ in range(PROFILED_CALLS):
                    clock.swept.fill_(1)
                    with record_function("case:%d" % number):
                        call()
                clock.sync()
                call = None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        return Kernels(path)


class Budget:
    def __init__(self, seconds):
        self.began, self.seconds = time.monotonic(), seconds

    def spent(self):
        return (time.monotonic() - self.began) / self.seconds

    def allows(self, reserve):
        return self.spent() < 1 - reserve


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200].replace(",", " ")


class Table:
    """The rows so far, in a file that is whole after each block of them."""

    def __init__(self, path):
        self.path, self.rows = path, []

    def add(self, row):
        self.rows.append(row)

    def save(self):
        with open(self.path + ".part", "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        os.replace(self.path + ".part", self.path)


def free():
    gc.collect()
    with contextlib.suppress(Exception):
        torch.cuda.empty_cache()


def measure_cases(cases, clock, table, budget):
    """Returns the cases that were measured, each with its row."""
    done = []
    for number, case in enumerate(cases):
        if not budget.allows(0.3):
            break
        try:
            row = measured(case, clock)
            done.append((case, row))
        except Exception as error:
            row = dict(case.row, notes="failed: " + first_line(error))
            free()
        table.add(row)
        if number % 50 == 0:
            table.save()
    table.save()
    return done


def add_kernels(done, clock, table, budget, block=150):
    for first in range(0, len(done), block):
        if not budget.allows(0.05):
            return
        part = done[first:first + block]
        try:
            kernels = kernels_of([case for case, _ in part], clock)
        except Exception as error:
            print("kernels: " + first_line(error), flush=True)
            continue
        for number, (_, row) in enumerate(part):
            row.update(kernels.columns(number, PROFILED_CALLS))
        table.save()


def run(given, device):
    budget, table, clock = Budget(given.seconds), Table(given.output), Clock(device)
    host_measured(clock, table.add)
    table.save()
    host_count = len(table.rows)
    print("host: %d rows, %.1f s" % (host_count, budget.spent() * given.seconds), flush=True)
    if clock.on_gpu:
        for extra in (graph_rows, lambda c, w: gather_rows(c, w, budget)):
            try:
                extra(clock, table.add)
            except Exception as error:
                table.add(dict(op="graphs or rows of the host", notes="failed: " + first_line(error)))
            table.save()
        free()
    print("graphs and rows of the host's memory: %.1f s" % (budget.spent() * given.seconds), flush=True)
    cases = cases_in_turns()
    if given.small:
        cases = [case for case in cases if case.row["bytes"] < 3e6 and case.row["flop"] < 3e8]
    done = measure_cases(cases, clock, table, budget)
    print("= operators: %d of %d cases, %.1f s" % (len(done), len(cases), budget.spent() * given.seconds), flush=True)
    if clock.on_gpu:
        add_kernels(done, clock, table, budget)
    table.save()
    summary(table.rows, budget, given)


def summary(rows, budget, given):
    failed = [row for row in rows if row.get("notes", "").startswith(("failed", "left out"))]
    print("= operators: %d rows, %d with kernels, %d failed, %.1f s" %
          (len(rows), sum("kernel_us" in row for row in rows), len(failed), budget.spent() * given.seconds))
    for text in sorted({"%s: %s" % (row["op"], row["notes"]) for row in failed})[:8]:
        print("= " + text)
    for name in ("host: relu, plain", "host: linear, recorded", "host: backward of relu", "host: to the device, page-locked"):
        print("= %s: %s us" % (name, [row.get("host_us_median") for row in rows if row["op"] == name]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    run(given, torch.device(given.device))


if __name__ == "__main__":
    main()
