"""The JSON Schemas of `shardsim schema` take every shipped file, and refuse it once a key is misspelled or a value is of
another kind, or a wrong one of its own kind. What they refuse, the program refuses, too; what they take, it does not
refuse for one value alone. Usage: check_schemas.py SHARDSIM SOURCE_DIR"""

import pathlib
import random
import sys
import tempfile

import jsonschema

sys.dont_write_bytecode = True  # the source tree stays as it is

from schema_files import KINDS, changed, files_of_options, is_beneath_free_value, is_free, schema_of, schema_text, \
    shipped_files, spots
from value_mutations import Program, mutations_of, reason_beyond

shardsim, source = sys.argv[1], pathlib.Path(sys.argv[2])

# TorchRec writes no `schema`, and keys of its own that are not known beside those that are needed: a plan without these
# keys is another good plan.
LEFT_ALONE = {("plan", "schema"), ("plan", "compute_kernel")}

# Where the schema takes what the reader refuses: readers of plans look at these without saying as what.
LENIENT = {("plan", "*", "*", "sharding_type"), ("plan", "*", "*", "tiers", "*", "compute_kernel"),
           ("plan", "*", "*", "tiers", "*", "ranks"), ("plan", "*", "*", "tiers", "*", "replica_groups", "*")}


failures = checks = 0


def check(what, good):
    global failures, checks
    checks += 1
    if not good:
        failures += 1
        print("FAILED:", what)


def misspell(holder, key):
    items = list(holder.items())
    holder.clear()
    holder.update((name + "_z" if name == key else name, value) for name, value in items)


def wrong_kinds(value):
    """Values of another kind than this one, which no key takes instead of it."""
    if isinstance(value, dict):
        return [[["z"]]]
    if isinstance(value, list):
        return [{"z": {}}]
    return [[["z"]], {"z": {}}]


schemas = {kind: schema_of(shardsim, kind) for kind in KINDS}
check("a schema is the same each time", schema_text(shardsim, "cluster") == schema_text(shardsim, "cluster"))

print("-- shipped files")
files = shipped_files(source)
options = files_of_options(source)
for kind, path, data in files + options:
    error = jsonschema.exceptions.best_match(schemas[kind].iter_errors(data))
    where = "" if error is None else f"{list(error.absolute_path)}: {error.message[:300]}"
    check(f"{path.relative_to(source)} is a {kind}: {where}", error is None)
print(len(files), "files")


def check_kinds(program):
    """Misspelled keys and values of another kind."""
    every = 20  # of the mutations are shown to the program, too
    seen = set()
    tried = 0
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
                if tried % every == 0 and place[0] != "cluster":
                    check(f"{where}: the program takes it", program.refusal(path, mutated) is not None)
    print(tried, "mutations of keys and kinds")


def check_values(program):
    """Wrong words, numbers, units and truth values: what the schema takes and the program refuses for it alone."""
    drawn = 250  # of each kind of file
    for kind in ("cluster", "scenario", "workload"):
        mutations = list(mutations_of(kind, files + options))
        for number, mutation in enumerate(random.Random(1).sample(mutations, drawn)):
            data = mutation.data(mutation.wrong)
            if schemas[kind].is_valid(data):
                said = program.refusal(mutation.path, data)
                good = said is None or reason_beyond(mutation, said) is not None
                check(f"{mutation}: taken by the schema, and the program says: {said}", good)
            elif number % 4 == 0:
                check(f"{mutation}: marked by the schema, and the program takes it",
                      program.refusal(mutation.path, data) is not None)
        print(drawn, "of", len(mutations), "mutations of values of a", kind)


with tempfile.TemporaryDirectory() as folder:
    shown = Program(shardsim, source, folder)
    print("-- mutations")
    check_kinds(shown)
    check_values(shown)

print(f"{checks} checks, {failures} failed")
sys.exit(1 if failures else 0)
