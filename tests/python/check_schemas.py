"""The JSON Schemas of `shardsim schema` take every shipped file, and refuse it once a key is misspelled or a value is of
another kind. What they refuse, the program refuses, too. Usage: schema.py SHARDSIM SOURCE_DIR"""

import copy
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import jsonschema
import yaml

shardsim, source = sys.argv[1], pathlib.Path(sys.argv[2])
KINDS = ["cluster", "plan", "scenario", "workload"]

# Maps whose keys are names, patterns or paths of the user's, and the values of such paths.
FREE_KEYS = {"set", "axes", "constraints"}


# TorchRec writes no `schema`, and keys of its own that are not known beside those that are needed: a plan without these
# keys is another good plan.
LEFT_ALONE = {("plan", "schema"), ("plan", "compute_kernel")}

# Where the schema takes what the reader refuses: readers of plans look at these without saying as what.
LENIENT = {("plan", "*", "*", "sharding_type"), ("plan", "*", "*", "tiers", "*", "compute_kernel"),
           ("plan", "*", "*", "tiers", "*", "ranks"), ("plan", "*", "*", "tiers", "*", "replica_groups", "*")}


class Loader(yaml.SafeLoader):
    """YAML as the program reads it: dates are texts."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

failures = checks = 0


def check(what, good):
    global failures, checks
    checks += 1
    if not good:
        failures += 1
        print("FAILED:", what)


def read(path):
    text = path.read_text()
    return json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader)


def shipped_files():
    """Every shipped file of the four kinds, small ones first."""
    files = []
    for path in sorted((source / "scenarios").rglob("*"), key=lambda path: (path.stat().st_size, path.name)):
        if path.suffix not in (".yaml", ".json") or "imports" in path.parts:
            continue
        kind = str(read(path).get("schema", "")).removeprefix("shardsim.").split("/")[0]
        if kind in KINDS:
            files.append((kind, path, read(path)))
    return files


def spots(kind, value, way=(), place=()):
    """Each value within another one: the way to it, and its place. Items of a list share it, and values of keys that are
    names of the user's."""
    if isinstance(value, dict):
        children = [(key, "*" if is_free(kind, place + (key,)) else key) for key in value]
    elif isinstance(value, list):
        children = [(index, "*") for index in range(len(value))]
    else:
        return
    for step, name in children:
        yield way + (step,), place + (str(name),), value[step]
        yield from spots(kind, value[step], way + (step,), place + (str(name),))


def changed(data, way, change):
    """A copy of the data in which `change` has been made to the container and key at the end of the way."""
    result = copy.deepcopy(data)
    holder = result
    for step in way[:-1]:
        holder = holder[step]
    change(holder, way[-1])
    return result


def misspell(holder, key):
    items = list(holder.items())
    holder.clear()
    holder.update((name + "_z" if name == key else name, value) for name, value in items)


def is_free(kind, place):
    """Whether the last part of the place is a key of the user's own."""
    if len(place) < 2 or place[-1] == "*":
        return place[-1] == "*"
    if kind == "plan" and len(place) in (2, 3) and place[0] == "plan":
        return True
    return place[-2] in FREE_KEYS or (place[-2] == "tables" and kind == "scenario")


def is_beneath_free_value(place):
    return any(part in ("set", "axes") for part in place[:-1])


def wrong_kinds(value):
    """Values of another kind than this one, which no key takes instead of it."""
    if isinstance(value, dict):
        return [[["z"]]]
    if isinstance(value, list):
        return [{"z": {}}]
    return [[["z"]], {"z": {}}]


schemas = {}
for kind in KINDS:
    made = subprocess.run([shardsim, "schema", kind], capture_output=True, text=True, check=True).stdout
    if kind == "cluster":
        again = subprocess.run([shardsim, "schema", kind], capture_output=True, text=True, check=True).stdout
        check("a schema is the same each time", made == again)
    schema = json.loads(made)
    jsonschema.Draft202012Validator.check_schema(schema)
    schemas[kind] = jsonschema.Draft202012Validator(schema)

print("-- shipped files")
files = shipped_files()
for kind, path, data in files:
    error = jsonschema.exceptions.best_match(schemas[kind].iter_errors(data))
    where = "" if error is None else f"{list(error.absolute_path)}: {error.message[:300]}"
    check(f"{path.relative_to(source)} is a {kind}: {where}", error is None)
print(len(files), "files")



def refused(path, data):
    """Whether the program refuses the data in the place of a shipped file, and its exit code."""
    beside = path.with_name(f"mutated_{path.stem}{path.suffix}")
    beside.write_text(json.dumps(data))
    code = subprocess.run([shardsim, "check", beside], capture_output=True, timeout=600).returncode
    beside.unlink()
    return code == 2, code


print("-- mutations")
EVERY = 20  # of the mutations are shown to the program, too
seen = set()
tried = 0
with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(source / "scenarios", pathlib.Path(folder) / "scenarios")
    for kind, path, data in files:
        for way, place, value in spots(kind, data):
            spot = (kind, place, type(value).__name__)
            if spot in seen or is_beneath_free_value(place):
                continue
            seen.add(spot)
            mutations = [] if is_free(kind, place) or (kind, place[-1]) in LEFT_ALONE else [("misspelled", changed(data, way, misspell))]
            for wrong in [] if kind == "plan" and place in LENIENT else wrong_kinds(value):
                other = changed(data, way, lambda holder, key: holder.__setitem__(key, wrong))
                mutations.append((f"is {wrong}", other))
            for what, mutated in mutations:
                tried += 1
                where = f"{path.name}: {'.'.join(place)} {what}"
                check(where, not schemas[kind].is_valid(mutated))
                # Nobody reads a cluster at the top level that every case replaces.
                if tried % EVERY == 0 and place[0] != "cluster":
                    copied = pathlib.Path(folder) / path.relative_to(source)
                    good, code = refused(copied, mutated)
                    check(f"{where}: the program ends with {code}", good)
print(tried, "mutations")

print(f"{checks} checks, {failures} failed")
sys.exit(1 if failures else 0)
