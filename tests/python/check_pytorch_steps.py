"""What was measured of PyTorch (scenarios/measurements/pytorch) is whole and in the documented columns, its traces say what the table
of steps says of them, and the scenario and the page made from it are those of today.
Usage: check_pytorch_steps.py SHARDSIM SOURCE_DIR"""

import csv
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

shardsim, source = sys.argv[1], pathlib.Path(sys.argv[2])
measured = source / "scenarios/measurements/pytorch"
folder = measured / "h100"
failures = checks = 0
LEAST_GOOD, MOST_ERROR = 0.93, 30  # of the classes of a step, within 15 %; %: what holds today


def check(what, good):
    global failures, checks
    checks += 1
    if not good:
        failures += 1
        print("FAILED:", what)


def gpu_events(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    steps = [e for e in events if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#")]
    launched = {e["args"]["correlation"] for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")
                and "correlation" in e.get("args", {}) and any(s["ts"] <= e["ts"] < s["ts"] + s["dur"] for s in steps)}
    return len(steps), [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
                        and e["args"].get("correlation") in launched]


def check_trace(row):
    path = folder / "traces" / row["trace"]
    steps, events = gpu_events(path)
    name = row["trace"]
    check(name + " has three steps", steps == 3)
    busy = sum(e["dur"] for e in events) / steps
    check(f"{name}: GPU busy {row['gpu_busy_us']} us a step is the sum of its kernels, {busy:.2f}", abs(busy - row["gpu_busy_us"]) < 0.02)
    check(f"{name}: {row['kernels']} kernels a step", abs(len(events) / steps - row["kernels"]) < 0.01)


def check_step(row, models):
    what = "%s %s %d %s %s" % (row["model"], row["precision"], row["batch"], row["part"], row["how"])
    check(what + ": the model is described", row["model"] in models)
    check(what + ": known words", row["precision"] in ("fp32", "tf32", "bf16") and row["part"] in ("step", "dense") and
          row["how"] in ("eager", "profiled", "graph") and row["graph"] == (row["how"] == "graph"))
    check(what + ": times in order", 0 < row["ms_least"] <= row["ms_median"] <= row["ms_most"] < 1000)
    if row["how"] == "eager":
        check(what + ": the phases are most of the host's time",
              0.5 * row["host_ms"] < sum(row["host_us_by_phase"].values()) / 1000 < 1.1 * row["host_ms"])
    if row["how"] == "profiled":
        for key in ("by_operator", "top"):
            share = sum(each[0] for each in row[key]) / row["gpu_busy_us"]
            check(f"{what}: {key} adds up to the GPU's time ({share:.3f})", 0.9 < share < 1.001)


def check_steps(folder):
    with open(folder / "steps.json", encoding="utf-8") as file:
        content = json.load(file)
    check("the schema of steps.json", content["schema"] == "shardsim.pytorch_steps/1")
    models = {model["name"]: model for model in content["models"]}
    for row in content["steps"]:
        check_step(row, models)
    check("there are steps", len(content["steps"]) > 100)
    return {row["trace"]: row for row in content["steps"] if row["how"] == "profiled"}


def check_traces(traced):
    kept = sorted(path.name for path in (folder / "traces").iterdir())
    check("traces are kept", len(kept) > 3)
    for name in kept:
        check(name + " is in the table of steps", name in traced)
        check_trace(traced[name])


def documented_columns():
    page = (source / "docs/formats/measurements.md").read_text(encoding="utf-8")
    section = page.split("## Operators of PyTorch")[1].split("\n## ")[0]
    return set(re.findall(r"`(\w+)`", section))


def number(cell):
    return float(cell) if cell else None


def check_operators(folder):
    with open(folder / "operators.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    check("operators.csv has rows", len(rows) > 500)
    documented = documented_columns()
    for column in rows[0]:
        check(f"the column {column} of operators.csv is documented", column in documented)
    for at, row in enumerate(rows, 2):
        what = "operators.csv:%d (%s)" % (at, row["op"])
        values = {column: number(cell) for column, cell in row.items()
                  if column not in ("op", "precision", "kernel_names", "notes")}
        check(what + ": numbers are not negative", all(value is None or value >= 0 for value in values.values()))
        least, median, most = (values["gpu_us_" + each] for each in ("least", "median", "most"))
        check(what + ": times in order", median is None or 0 < least <= median <= most)
        check(what + ": times, or the reason", median is not None or values["host_us_median"] is not None or row["notes"])
        if values["kernel_us"]:
            parts = [re.match(r"([\d.e+-]+) us x ([\d.e+-]+) ", part) for part in row["kernel_names"].split("; ")]
            total = sum(float(part[1]) for part in parts if part)
            check(f"{what}: kernels add up", abs(total / values["kernel_us"] - 1) < 0.01)


def output_of(*command):
    return subprocess.run([sys.executable, *map(str, command)], check=True, capture_output=True, text=True).stdout


def check_scenario():
    made = output_of(source / "scripts/pytorch_steps_scenario.py", folder / "steps.json")
    check("scenarios/pytorch_steps.yaml is made from the measurements",
          made == (source / "scenarios/pytorch_steps.yaml").read_text(encoding="utf-8"))


RUNS = [("none", []), ("torchrec_eager", []), ("pytorch_eager", []), ("pytorch_graph", []),
        ("pytorch_eager", ["--set", "cluster={base: dgx_h200, nodes: 1, gpu: {count: 1}}"])]


def run_all(work):
    """The results of the scenario with each software, and of an H200."""
    results = []
    for number, (software, more) in enumerate(RUNS):
        out = pathlib.Path(work) / str(number)
        stated = more if software == "none" else ["--set", "software=" + software, *more]
        subprocess.run([shardsim, "run", source / "scenarios/pytorch_steps.yaml", "-o", out, "-q", *stated], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        results.append(out / "result.json")
    return results


def check_classes(lines):
    """The kernels of a step by class of operators: what holds of issue 36's bound."""
    all_classes = next(line for line in lines if line.startswith("| all |"))
    numbers = [float(cell) for cell in all_classes.replace("|", " ").split() if re.fullmatch(r"[+-]?[\d.]+", cell)]
    for gpu, (judged, good, median, worst) in zip(("H100", "H200"), (numbers[:4], numbers[4:])):
        check(f"{gpu}: {judged:.0f} classes are judged", judged > 90)
        check(f"{gpu}: {good:.0f} of {judged:.0f} classes are within 15 %", good >= LEAST_GOOD * judged)
        check(f"{gpu}: {median} % at the median", median < 6)
        check(f"{gpu}: {worst} % at most", abs(worst) < MOST_ERROR)


def check_page():
    with tempfile.TemporaryDirectory() as work:
        results = run_all(work)
        lines = output_of(source / "scripts/pytorch_steps_tables.py", folder / "steps.json", *results[:4], measured / "h200/steps.json",
                          results[4]).splitlines()
    check("the tables of pytorch_steps.md have lines", len(lines) > 30)
    check_classes(lines)
    page = (source / "docs/pytorch_steps.md").read_text(encoding="utf-8").splitlines()
    for line in lines:
        check("docs/pytorch_steps.md has: " + line, line in page)


check_traces(check_steps(folder))
check_steps(measured / "h200")
for gpu in ("h100", "h200"):
    check_operators(measured / gpu)
check_scenario()
check_page()
print(f"{checks - failures} passed, {failures} failed")
sys.exit(failures > 0)
