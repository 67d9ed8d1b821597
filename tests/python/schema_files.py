"""The shipped files that have a JSON Schema, and how to walk and change what they say."""

import copy
import json
import subprocess

import jsonschema
import yaml

KINDS = ["cluster", "plan", "scenario", "workload"]

# Maps whose keys are names, patterns or paths of the user's, and the values of such paths.
FREE_KEYS = {"set", "axes", "constraints"}


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML as the program reads it: dates are texts."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(path):
    text = path.read_text()
    return json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader)


def shipped_files(source):
    """Every shipped file of the four kinds, small ones first."""
    files = []
    for path in sorted((source / "scenarios").rglob("*"), key=lambda path: (path.stat().st_size, path.name)):
        if path.suffix not in (".yaml", ".json") or "imports" in path.parts:
            continue
        data = read(path)
        kind = str(data.get("schema", "")).removeprefix("shardsim.").split("/")[0]
        if kind in KINDS:
            files.append((kind, path, data))
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
    """The data but for what `change` makes of the container and key at the end of the way. Containers on the way there are
    copies; all others are those of the data."""
    result = holder = copy.copy(data)
    for step in way[:-1]:
        holder[step] = copy.copy(holder[step])
        holder = holder[step]
    change(holder, way[-1])
    return result


def is_free(kind, place):
    """True when the last part of the place is a key of the user's own."""
    if len(place) < 2 or place[-1] == "*":
        return place[-1] == "*"
    if kind == "plan" and len(place) in (2, 3) and place[0] == "plan":
        return True
    return place[-2] in FREE_KEYS or (place[-2] == "tables" and kind == "scenario")


def is_beneath_free_value(place):
    return any(part in ("set", "axes") for part in place[:-1])


def schema_text(shardsim, kind):
    return subprocess.run([shardsim, "schema", kind], capture_output=True, text=True, check=True).stdout


def containers_of(value):
    """Each map and list of a file, itself among them."""
    if isinstance(value, (dict, list)):
        yield value
        for inside in value.values() if isinstance(value, dict) else value:
            yield from containers_of(inside)


class Validator(jsonschema.Draft202012Validator):
    """Remembers which parts of which shipped files each part of a schema took, since a changed file shares with its original
    all that was not changed. Only parts that `keep` was told of are remembered: no other part can have their ids."""

    kept = {}  # the maps and lists, by their ids; held here, so that these stay theirs
    taken = set()  # ids of a kept part and of the part of a schema that took it

    @classmethod
    def keep(cls, data):
        cls.kept.update((id(part), part) for part in containers_of(data))

    def descend(self, instance, schema, path=None, schema_path=None):
        if id(instance) not in self.kept:
            yield from super().descend(instance, schema, path, schema_path)
            return
        pair = (id(instance), id(schema))
        if pair in self.taken:
            return
        errors = list(super().descend(instance, schema, path, schema_path))
        if not errors:
            self.taken.add(pair)
        yield from errors


def schema_of(shardsim, kind):
    schema = json.loads(schema_text(shardsim, kind))
    Validator.keep(schema)  # whose ids are remembered, too
    jsonschema.Draft202012Validator.check_schema(schema)
    return Validator(schema)


def files_of_options(source):
    """Files of the tests with keys that no shipped file states, as shipped_files gives those."""
    paths = sorted((source / "tests" / "python" / "options").glob("*.yaml"))
    return [(read(path)["schema"].removeprefix("shardsim.").split("/")[0], path, read(path)) for path in paths]
