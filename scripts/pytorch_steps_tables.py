#!/usr/bin/env python3
"""Prints the sections with tables of docs/pytorch_steps.md: steps of PyTorch beside predictions without software, as torchrec_eager, pytorch_eager
and pytorch_graph, and where the GPU's time goes. Usage: pytorch_steps_tables.py STEPS.json NONE/result.json TORCHREC_EAGER/result.json
PYTORCH_EAGER/result.json PYTORCH_GRAPH/result.json
"""
import json
import re
import statistics
import sys

# The first pattern that fits "PHASE OPERATOR" says which class a kernel belongs to.
CLASSES = [("input copies", r"^(copy_batch_to_gpu|wait_for_batch) "),
           ("lookups", r"^forward .*embedding"),
           ("gradients of tables", r"^backward .*Embedding"),
           ("dense optimizer", r"^optimizer aten::(_foreach|_fused)"),
           ("table updates", r"^optimizer "),
           ("attention", r"attention|Attention"),
           ("products", r"linear|[Aa]ddmm|MmBackward|aten::mm|TBackward"),
           ("interaction", r"[Bb]mm|aten::index|IndexBackward|aten::cat|CatBackward|SliceBackward|UnsafeViewBackward"),
           ("element-wise", r"")]


def class_of(phase, operator):
    return next(name for name, pattern in CLASSES if re.search(pattern, phase + " " + operator))


def by_class(row):
    sums = {}
    for us, _, phase, operator in row["by_operator"]:
        name = class_of(phase, operator)
        sums[name] = sums.get(name, 0) + us
    return sums


def case_of(row):
    return "%s_%s/%d" % (row["model"], row["precision"], row["batch"])


def measured(path):
    """{case: {(part, how): row}} in the order of cases, without those that copy on a second stream."""
    with open(path, encoding="utf-8") as file:
        steps = json.load(file)["steps"]
    cases = {}
    for row in sorted(steps, key=lambda row: (row["model"], row["precision"], row["batch"])):
        if not row["prefetch"]:
            cases.setdefault(case_of(row), {})[row["part"], row["how"]] = row
    return cases


def predicted(path):
    with open(path, encoding="utf-8") as file:
        return {case["name"]: case for case in json.load(file)["cases"]}


def cell(value, form="%.3f"):
    return form % value if value is not None else "-"


def error(value, observed):
    return 100 * (value / observed - 1)


def eager_table(cases, plain, eager, pytorch):
    print("| case | eager ms | host ms | GPU busy ms | kernels | no software ms | error % | torchrec_eager ms | error % | pytorch_eager ms | error % |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    errors = [], [], []
    for name, rows in cases.items():
        if name not in plain or ("step", "eager") not in rows:
            continue
        step, trace = rows["step", "eager"], rows.get(("step", "profiled"), {})
        all_three = [error(of[name]["iteration_ms"], step["ms"]) for of in (plain, eager, pytorch)]
        for each, value in zip(errors, all_three):
            each.append(value)
        busy = trace["gpu_busy_us"] / 1000 if trace else None
        print("| %s | %.3f | %.3f | %s | %s | %.3f | %+.0f | %.3f | %+.0f | %.3f | %+.0f |" %
              (name, step["ms"], step["host_ms"], cell(busy), cell(trace.get("kernels"), "%.0f"), plain[name]["iteration_ms"], all_three[0],
               eager[name]["iteration_ms"], all_three[1], pytorch[name]["iteration_ms"], all_three[2]))
    print()
    for name, each in zip(("no software", "torchrec_eager", "pytorch_eager"), errors):
        size_line(name, each)


def size_line(name, errors):
    print("Size of the errors, %s: %.0f %% at the median, %.0f %% at most." %
          (name, statistics.median(map(abs, errors)), max(map(abs, errors))), end="\n\n")


def dense_ms(case):
    return sum(each["total_ms"] for each in case["compute"] if each["name"].startswith("dense"))


def graph_table(cases, plain, graph):
    print("## As CUDA graphs\n")
    print("| case | step as a graph ms | dense part as a graph ms | dense part eager ms | no software ms | error % | pytorch_graph ms | error % |")
    print("|---|---|---|---|---|---|---|---|")
    errors, by_kernel = [], {True: [], False: []}
    for name, rows in cases.items():
        dense = rows.get(("dense", "graph"))
        if name not in plain or dense is None:
            continue
        value, pytorch = dense_ms(plain[name]), dense_ms(graph[name])
        errors.append(error(value, dense["ms"]))
        by_kernel[name.startswith("seq")].append(error(pytorch, dense["ms"]))
        step, eager = rows.get(("step", "graph")), rows.get(("dense", "eager"))
        print("| %s | %s | %.3f | %s | %.3f | %+.0f | %.3f | %+.0f |" %
              (name, cell(step and step["ms"]), dense["ms"], cell(eager and eager["ms"]), value, errors[-1], pytorch,
               by_kernel[name.startswith("seq")][-1]))
    print()
    size_line("dense part, no software", errors)
    size_line("dense part, pytorch_graph, without attention", by_kernel[False])
    size_line("dense part, pytorch_graph, with attention", by_kernel[True])


def class_table(cases):
    names = [name for name, _ in CLASSES]
    print("## Where the GPU's time goes\n\nus a step, by the operator that launched the kernels.\n")
    print("| case | GPU busy us | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 2) + "|")
    for name, rows in cases.items():
        row = rows.get(("step", "profiled"))
        if row:
            sums = by_class(row)
            print("| %s | %.0f | " % (name, row["gpu_busy_us"]) + " | ".join("%.0f" % sums.get(each, 0) for each in names) + " |")


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__.strip())
    cases = measured(sys.argv[1])
    plain, eager, pytorch, graph = (predicted(path) for path in sys.argv[2:])
    eager_table(cases, plain, eager, pytorch)
    graph_table(cases, plain, graph)
    class_table(cases)


if __name__ == "__main__":
    main()
