"""Wrong values for the scalars of files: those that a schema takes, the program must not refuse for that value alone.
check_schemas.py draws some. Run alone, this tries all, and lists what the schema takes and the program refuses.
Usage: value_mutations.py SHARDSIM SOURCE_DIR [KIND...]"""

import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import schema_files

MARK = "@@the value that is changed@@"
QUANTITY = re.compile(r"^([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?) ?([A-Za-z%/]+)$")
MOST_BYTES = 13000  # of a file: the larger ones say nothing new, and cost seconds each time
SLOW = {"mlperf_dcnv2", "nvidia_synthetic", "pool_4x8", "published_iterations", "sixty_tables", "torchrec_crosscheck",
        "torchrec_synthetic"}  # scenarios whose planners search for seconds before `check` takes them

# Rules that no schema can know: by place, and by the program's message about the value there.
BEYOND = [
    (r"(.*\.)?(base|workload|cluster|file|include\.\*)", "", "which files there are"),
    (r".*\.(relative_to|case|tables|where|distributed\.\*)", "", "how the file calls its cases and tables"),
    (r".*\.(name|label|switch|parent)", "two |twice|is taken|'\\.'|no table|neither a CPU", "names that must fit each other"),
    (r"sweep\.zip\..*", "", "paths of the user's, whose values any key may have"),
    (r".*\.gpu", "unknown GPU|no constants|does not exist", "which GPUs there are"),
    (r".*\.(gpus|nics|links|ranks|nodes)(\.\*)*", "does not exist|outside the|named twice|linked twice|lower to a higher",
     "how many of them there are"),
    (r"tables_from\.tables\.\*", "there is no table", "how many tables that workload has"),
    (r"dense\.layers\.\*\.(tables\.\*|length)", "there is no sequence table|its tables have", "how the file calls its tables"),
    (r".*\.compute_capability", "is for CPU ranks", "which device it is"),
    (r".*\.published\.\*\.value", "unit", "the quantity says which unit is due"),
    (r".*", "_to is below|is below [a-z]|divided into|domain|leaves nothing|all nodes are under one leaf"
            "|fitted value without source|whole rank|weights of|add up", "values that must fit each other"),
    (r".*", "has no effect|cannot be used|no meaning|needs |belongs to|only (sequence|pooled)|NCCL raises|no peers|SHARP"
            "|twice", "keys that exclude or need each other"),
]


def wrong_values(value):
    """Values to try in the place of a scalar, by kind of fault."""
    yield "empty text", ""
    yield "unknown word", f"{value}_z"
    yield "text for a number", "many"
    yield "truth value", True
    yield "word for a truth value", "yes"
    yield "negative", -1
    yield "zero", 0
    yield "number", 7
    yield "fraction", 0.37
    yield "huge", 10**30
    yield "infinite", ".inf"
    yield "percent over 100", "150 %"
    yield "no such unit", "25 parsec"
    yield "another quantity", "25 GB"
    yield "no value", None
    yield "empty list", []
    yield "empty map", {}
    yield "one as a text", "1"
    yield "one with an exponent", "1e0"
    yield "thousand with an exponent", "1e3"
    yield "thousands", 100001
    yield "whole share", "100 %"
    yield "part of a byte", "1.5 B"
    quantity = QUANTITY.match(value) if isinstance(value, str) else None
    if quantity:
        number, unit = quantity.groups()
        yield "no unit", number
        yield "negative quantity", f"-{number} {unit}"
        yield "zero quantity", f"0 {unit}"
        yield "huge quantity", f"1e30 {unit}"
        yield "tiny quantity", f"1e-30 {unit}"
        yield "many blanks", f"{number}   {unit}"


class Mutation:
    def __init__(self, path, data, way, place, fault, wrong):
        self.path, self.way, self.place, self.fault, self.wrong = path, way, ".".join(place), fault, wrong
        self.original = data

    def data(self, value):
        return schema_files.changed(self.original, self.way, lambda holder, key: holder.__setitem__(key, value))

    def line(self):
        """Where the value stands when the data is written one value a line."""
        lines = json.dumps(self.data(MARK), indent=1).split("\n")
        return 1 + next(number for number, line in enumerate(lines) if MARK in line)

    def __str__(self):
        return f"{self.path.name}: {self.place} is {json.dumps(self.wrong)} ({self.fault})"


def mutations_of(kind, files):
    """Each place once for each kind of value there."""
    seen = set()
    for of_kind, path, data in files:
        if of_kind != kind or path.stat().st_size > MOST_BYTES or (kind == "scenario" and path.stem in SLOW):
            continue
        for way, place, value in schema_files.spots(kind, data):
            spot = (place, type(value).__name__)
            if isinstance(value, dict) or schema_files.is_beneath_free_value(place) or spot in seen:
                continue
            seen.add(spot)
            for fault, wrong in [("empty list", [])] if isinstance(value, list) else wrong_values(value):
                if json.dumps(wrong) != json.dumps(value):
                    yield Mutation(path, data, way, place, fault, wrong)


class Program:
    """Shows changed files to the program, each where its original is among the shipped ones."""

    def __init__(self, shardsim, source, folder):
        self.shardsim, self.source, self.folder = shardsim, source, pathlib.Path(folder)
        shutil.copytree(source / "scenarios", self.folder / "scenarios")

    def refusal(self, path, data):
        """The message of the program when it refuses the data; None when it takes them."""
        beside = self.folder / "scenarios" / path.parent.name / f"mutated_{path.name}"
        if not beside.parent.is_dir():
            beside = self.folder / "scenarios" / beside.name
        beside.write_text(json.dumps(data, indent=1))
        try:
            done = subprocess.run([self.shardsim, "check", beside], capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return None  # what is refused is refused before plans are made
        finally:
            beside.unlink()
        if done.returncode not in (0, 1, 2, 3, 4):
            raise SystemExit(f"the program ends with {done.returncode} on a mutated {path}: {done.stderr}")
        return done.stderr.replace(str(beside), "FILE") if done.returncode == 2 else None


def reason_beyond(mutation, said):
    """Why no schema can refuse it; None where it could."""
    if f"FILE:{mutation.line()}:" not in said:
        return "refused where another value stands"
    for place, message, reason in BEYOND:
        if re.fullmatch(place, mutation.place) and re.search(message, said):
            return reason
    return None


def main():
    shardsim, source = sys.argv[1], pathlib.Path(sys.argv[2])
    files = schema_files.shipped_files(source) + schema_files.files_of_options(source)
    total = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        program = Program(shardsim, source, folder)
        for kind in sys.argv[3:] or ["cluster", "scenario", "workload"]:
            schema = schema_files.schema_of(shardsim, kind)
            counts = collections.Counter()
            for number, mutation in enumerate(mutations_of(kind, files)):
                data = mutation.data(mutation.wrong)
                admitted = schema.is_valid(data)
                counts["tried"] += 1
                counts["admitted"] += admitted
                if not admitted and number % 8 != 0:
                    continue
                said = program.refusal(mutation.path, data)
                if not admitted and said is None:
                    counts["marked, but taken"] += 1
                    print("STRICTER", kind, mutation, sep="\t", flush=True)
                if admitted and said is not None:
                    counts["admitted and refused"] += 1
                    reason = reason_beyond(mutation, said)
                    counts["of these, one value alone"] += reason is None
                    print("ADMITTED", kind, reason or "MISSED", mutation, said.strip().split("\n")[-1][:300], sep="\t",
                          flush=True)
            print(kind, dict(counts), flush=True)
            total += counts
    print("all", dict(total), f"{total['admitted and refused'] / total['admitted']:.1%} of the admitted are refused")


if __name__ == "__main__":
    main()
