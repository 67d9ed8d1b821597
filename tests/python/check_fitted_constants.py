#!/usr/bin/env python3
"""No published iteration depends on a fitted constant that its report does not list.

The cases of every published workload, cluster and software are run as they are, and again with every constant of
scenarios/ that is marked as fitted and not listed for them changed by a fifth. Their times have to stay the same. That
the change reaches the program at all is seen where the listed ones are changed, too. A fourth of the groups is tried;
SHARDSIM_ALL_FITTED=1 tries all of them, in some minutes.
Usage: check_fitted_constants.py SHARDSIM SOURCE_DIR [RESULTS]     RESULTS: of shared_results.sh
"""

import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import yaml

SHARDSIM, SOURCE = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
SCENARIO = "published_iterations.yaml"
FOLDERS = ("clusters", "gpus", "software", "workloads")
EVERY_GROUP = bool(os.environ.get("SHARDSIM_ALL_FITTED"))
FACTOR = 0.8  # below 1: shares and efficiencies stay what they may be


def fitted_below(tree, path=()):
    """Every map {value: ..., fitted: true} below, with its key."""
    if isinstance(tree, dict):
        if tree.get("fitted") is True and "value" in tree:
            yield ".".join(path), tree
        for key, value in tree.items():
            yield from fitted_below(value, (*path, str(key)))
    elif isinstance(tree, list):
        for number, value in enumerate(tree, 1):
            yield from fitted_below(value, (*path, str(number)))


def scaled(number):
    """Another number that a file may hold: smaller, but where it is a factor that would fall below 1."""
    return number / FACTOR if 1 <= number < 1 / FACTOR else number * FACTOR


def changed(value):
    """The value with its number changed; None where it has none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return scaled(value)
    number = re.match(r"[0-9.eE+-]+", value)
    return f"{scaled(float(number[0])):.12g}{value[number.end():]}" if number else None


def number_of(value):
    """The number at the head of a value, by which one that was written is found in a list."""
    number = re.match(r"[0-9.eE+-]+", str(value))
    return float(number[0]) if number else str(value)


def is_listed(file, path, value, listed):
    """A list names a constant by its owner and the end of its path in the file, in a unit that may be another one; those of
    a family of kernels, all of a file, it names together."""
    if any(key.startswith(f"kernels {pathlib.Path(file).stem}: ") for key, _ in listed):
        return True
    return any(path.split(".")[-1] == re.split("[.: ]", key)[-1] and same_number(value, text) for key, text in listed)


def same_number(value, text):
    a, b = number_of(value), number_of(text)
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return any(abs(a * unit - b) <= 1e-3 * abs(b) for unit in (1, 1e3, 1e-3, 1e2, 1e-2))


def fitted_files():
    """The files of FOLDERS with fitted constants, each as its folder, its name and its tree."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files = []
    for folder in FOLDERS:
        for file in sorted((SOURCE / "scenarios" / folder).glob("*.yaml")):
            text = file.read_text()
            if "fitted: true" in text:
                files.append((folder, file.name, yaml.load(text, loader)))
    return files


def write_changed(data, files, keep):
    """Writes the files below `data` with every fitted constant changed that `keep` does not refuse."""
    changes = 0
    for folder, name, tree in files:
        here = copy.deepcopy(tree)
        for path, constant in fitted_below(here):
            value = None if keep(name, path, constant["value"]) else changed(constant["value"])
            if value is not None:
                constant["value"] = value
                changes += 1
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        (data / "scenarios" / folder / name).write_text(yaml.dump(here, Dumper=dumper, sort_keys=False))
    return changes


def data_folder(parent):
    """A folder that SHARDSIM_DATA may name: the data of the source tree, of which the files of FOLDERS can be written."""
    data = pathlib.Path(parent) / "data"
    (data / "scenarios").mkdir(parents=True)
    (data / "plots").symlink_to(SOURCE / "plots")
    for each in (SOURCE / "scenarios").iterdir():
        if each.name in FOLDERS:
            shutil.copytree(each, data / "scenarios" / each.name)
        else:
            (data / "scenarios" / each.name).symlink_to(each)
    return data


def run(folder, data, cases):
    """The result with a known placement of hot rows. Which one is typical follows from loads, and no constant moves it; but
    where none is known, each of 32 is simulated for the range of the time, and ranges are not compared here."""
    out = pathlib.Path(folder) / "out"
    arguments = [part for name in cases for part in ("--case", name)] + ["--set", "load.placement=0"]
    done = subprocess.run([SHARDSIM, "run", data / "scenarios" / SCENARIO, "-q", "-j", "1", "--force", "-o", out, *arguments],
                          env={**os.environ, "SHARDSIM_DATA": str(data)}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{', '.join(cases)}: {done.stderr}")
    return json.loads((out / "result.json").read_text())


def times(result):
    return {case["name"]: case["iteration_ms"] for case in result["cases"]}


def faults_of(files, cases):
    """Faults, and whether any constant at all changes the time of these cases."""
    with tempfile.TemporaryDirectory() as folder:
        data = data_folder(folder)
        usual = run(folder, data, cases)
        listed = [(each["path"], each["value"]) for each in usual["fitted_constants"]]
        write_changed(data, files, lambda file, path, value: is_listed(file, path, value, listed))
        here = times(run(folder, data, cases))
        write_changed(data, files, lambda file, path, value: False)
        there = times(run(folder, data, cases[:1]))
    faults = [f"{name}: {ms} ms, {here[name]} ms with other constants that its report does not list"
              for name, ms in times(usual).items() if here[name] != ms]
    return faults, there[cases[0]] != times(usual)[cases[0]]


def as_it_is():
    """The result of all published iterations."""
    if len(sys.argv) > 3:
        return json.loads((pathlib.Path(sys.argv[3]) / "published" / "result.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        return run(folder, data_folder(folder), [])


def main():
    everything = as_it_is()
    groups = {}
    for case in everything["cases"]:
        setting = case["interval"]["setting"]
        groups.setdefault((setting["model"].split(":")[0], setting["cluster"], setting["software"]), []).append(case["name"])
    chosen = [cases for at, (_, cases) in enumerate(sorted(groups.items())) if EVERY_GROUP or at % 4 == 1]
    files = fitted_files()
    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(lambda cases: faults_of(files, cases), chosen))
    faults = [fault for each, _ in told for fault in each]
    moved = sum(moves for _, moves in told)
    if moved < len(chosen) / 2:
        faults.append(f"only {moved} of {len(chosen)} groups depend on any fitted constant: were the files read?")
    cases = sum(len(each) for each in chosen)
    print("\n".join(faults) or f"{cases} cases in {len(chosen)} of {len(groups)} groups, {moved} of which depend on fitted constants")
    sys.exit(bool(faults))


main()
