#!/usr/bin/env python3
"""Prints the sections with tables of docs/pytorch_steps.md: steps of PyTorch beside predictions without software, as torchrec_eager, pytorch_eager
and pytorch_graph, and where the GPU's time goes. Usage: pytorch_steps_tables.py STEPS.json NONE/result.json TORCHREC_EAGER/result.json
PYTORCH_EAGER/result.json PYTORCH_GRAPH/result.json H200_STEPS.json H200_PYTORCH_EAGER/result.json
"""
import json
import re
import statistics
import sys

# The first pattern that fits "PHASE OPERATOR" says which class a kernel belongs to, by the names of a result's `operator_classes`.
CLASSES = [("input copies", r"^(copy_batch_to_gpu|wait_for_batch) "),
           ("lookups", r"^forward .*embedding"),
           ("updates", r"^backward .*Embedding|^optimizer (?!aten::(_foreach|_fused))"),
           ("dense optimizer", r"^optimizer "),
           ("attention", r"attention|Attention"),
           ("products", r"linear|[Aa]ddmm|MmBackward|aten::mm"),
           ("interaction", r"[Bb]mm|aten::index|IndexBackward|aten::cat|CatBackward"),
           ("layout", r"aten::reshape|(Slice|View|Unsqueeze|Transpose)Backward"),
           ("element-wise", r"")]
NAMES = [name for name, _ in CLASSES if name != "layout"]
# What numbers of scenarios/gpus/pytorch.yaml were read off, on the H100.
FITTED = {("H100", "dot128_tf32/4096", "updates"), ("H100", "dot64_adagrad_tf32/4096", "updates")}
LEAST_SHARE, GOOD_ERROR = 0.1, 15  # of a step, from which on a class is judged; %


def class_of(model, phase, operator):
    """Copies that change a layout are the interaction's; beside attention, whose own copies have the same names, no one can tell."""
    name = next(name for name, pattern in CLASSES if re.search(pattern, phase + " " + operator))
    return name if name != "layout" else "element-wise" if model.startswith("seq") else "interaction"


def by_class(row):
    sums = dict.fromkeys(NAMES, 0)
    for us, _, phase, operator in row["by_operator"]:
        sums[class_of(row["model"], phase, operator)] += us
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


def class_errors(cases, predictions):
    """{case: (busy us, {class: (measured us, predicted us or None)})}."""
    rows_of = {}
    for name, rows in cases.items():
        row = rows.get(("step", "profiled"))
        if row is None:
            continue
        mine = predictions.get(name)
        said = {each["class"]: 1000 * each["gpu_ms"] for each in mine["operator_classes"]} if mine else None
        rows_of[name] = row["gpu_busy_us"], {each: (us, said and said.get(each, 0)) for each, us in by_class(row).items()}
    return rows_of


def judged(gpu, rows_of):
    """(class, error %, case) of each class that has a tenth of its step, and was not used in a fit."""
    for name, (busy, sums) in rows_of.items():
        for each, (us, said) in sums.items():
            if said is not None and us >= LEAST_SHARE * busy and (gpu, name, each) not in FITTED:
                yield each, error(said, us), name


def class_cell(gpu, name, each, busy, us, said):
    if said is None or us < LEAST_SHARE * busy:
        return "%.0f" % us if said is None else "%.0f / %.0f" % (us, said)
    mark = " (fit)" if (gpu, name, each) in FITTED else ""
    return "%.0f / %.0f, %+.0f %%%s" % (us, said, error(said, us), mark)


def class_table(gpu, rows_of):
    print("| case | GPU busy us | " + " | ".join(NAMES) + " |")
    print("|---" * (len(NAMES) + 2) + "|")
    for name, (busy, sums) in rows_of.items():
        print("| %s | %.0f | " % (name, busy) + " | ".join(class_cell(gpu, name, each, busy, *sums[each]) for each in NAMES) + " |")
    print()


def class_summary(gpus):
    print("| class | " + " | ".join("%s: judged | within 15 %% | median error %% | largest error %% | which" % gpu for gpu, _ in gpus) + " |")
    print("|---" * (5 * len(gpus) + 1) + "|")
    errors = [list(judged(gpu, rows_of)) for gpu, rows_of in gpus]
    for each in NAMES + ["all"]:
        cells = [summary_cells([one for one in of if each in ("all", one[0])]) for of in errors]
        if any(cells):
            print("| %s | " % each + " | ".join(one or "0 | - | - | - | -" for one in cells) + " |")
    print()


def summary_cells(errors):
    if not errors:
        return ""
    sizes = [abs(value) for _, value, _ in errors]
    worst = max(errors, key=lambda one: abs(one[1]))
    return "%d | %d | %.1f | %+.1f | %s" % (len(errors), sum(size <= GOOD_ERROR for size in sizes), statistics.median(sizes), worst[1], worst[2])


def class_section(gpus):
    print("## Where the GPU's time goes\n")
    class_summary(gpus)
    for gpu, rows_of in gpus:
        print("On the %s, us a step, measured / predicted:\n" % gpu)
        class_table(gpu, rows_of)


def main():
    if len(sys.argv) != 8:
        sys.exit(__doc__.strip())
    cases = measured(sys.argv[1])
    plain, eager, pytorch, graph = (predicted(path) for path in sys.argv[2:6])
    eager_table(cases, plain, eager, pytorch)
    graph_table(cases, plain, graph)
    class_section([("H100", class_errors(cases, pytorch)), ("H200", class_errors(measured(sys.argv[6]), predicted(sys.argv[7])))])


if __name__ == "__main__":
    main()
