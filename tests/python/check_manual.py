#!/usr/bin/env python3
"""Runs what the pages of docs/manual show, and compares what is printed with what is shown.

Usage: check_manual.py SHARDSIM SOURCE_DIR [--update] [PAGE...]

PAGE is the name of a page of docs/manual, or README.md for the one of the source tree; without any, all of docs/manual.
Each page gets an empty folder of its own, with a link to scenarios/ and ./run.sh, which is the program here; its blocks
run in order:

  ```console   commands behind "$ " (a line that ends in a backslash goes on), each followed by what it prints, stdout and
               stderr together. A line "..." leaves lines out; those between two such lines follow each other in the output.
  ```sh        commands, one a line (a line that ends in a backslash goes on). Each must end with exit code 0; what it
               prints is not shown.
  ```yaml      that begins with a comment "# NAME.yaml" is written to that file.
  ```csv       likewise: "# NAME.csv", and the comment is not part of the file.
  ```python    runs with /usr/bin/python3, where its modules are installed; a ```text block right behind it is what it prints.

A comment above a block changes that: `<!-- not run: REASON -->` leaves it alone, and `<!-- differs: REGEX -->` blanks
what matches before both sides are compared (times of the machine, for example). A block of commands or Python that is
neither run nor marked is an error. --update writes what was printed into the pages, but for outputs of which lines are
left out before others; look at the difference afterwards.
Two commands of the README and of docs/ may not write to one name.
Exit: 0 all is as shown (or written), 1 something is not or a Python block fails, 2 wrong usage.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FENCE = re.compile(r"^```(\w*)\s*$")
MARK = re.compile(r"^<!-- (not run|differs): (.+) -->$")
COMMAND = re.compile(r"(?m)^ *(?:\$ )?(?:\./run\.sh|shardsim) (.*?)(?= -).*? -o (\S+)")
RUN = {"console", "sh", "python", "yaml", "csv", "text"}
LEFT_OUT = "..."
LEFT_ALONE = {"", "json"}
PYTHON = "/usr/bin/python3"


class Block:
    """One fenced block of a page: its kind, the numbers of its first and last line of content, and its marks."""

    def __init__(self, kind, begin, marks):
        self.kind, self.begin, self.end, self.marks = kind, begin, begin, marks


def blocks_of(lines):
    """The fenced blocks of a page, in order. Marks are the lines of comments right above a fence."""
    blocks, marks, inside = [], {}, None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if inside:
            if line == "```":
                inside.end = number
                blocks.append(inside)
                inside, marks = None, {}
        elif fence:
            inside = Block(fence[1], number + 1, marks)
        elif (mark := MARK.match(line)):
            marks[mark[1]] = mark[2]
        elif line.strip():
            marks = {}
    return blocks


def commands_of(content):
    """(lines of the command, lines of its shown output) of each command of a console block."""
    found = []
    goes_on = False
    for line in content:
        if line.startswith("$ ") or goes_on:
            if not goes_on:
                found.append(([], []))
            found[-1][0].append(line)
            goes_on = line.endswith("\\")
        elif found:
            found[-1][1].append(line)
        else:
            raise ValueError(f'a console block begins with "{line}" instead of a command')
    return found


def lines_of_sh(content):
    """The commands of an sh block, without empty lines and comments."""
    joined = "\n".join(content).replace("\\\n", " ")
    return [line for line in joined.split("\n") if line.strip() and not line.lstrip().startswith("#")]


def parts_between(shown):
    """The lines shown, in parts that follow each other in the output: [[first line, ...], ...]."""
    parts = [[]]
    for line in shown:
        if line == LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def is_excerpt(shown, printed):
    """Whether each part occurs in the output in this order, the first one at its beginning, the last one at its end."""
    first, *middle, last = parts_between(shown)
    if printed[:len(first)] != first or (last and printed[-len(last):] != last):
        return False
    at, end = len(first), len(printed) - len(last)
    for part in middle:
        at = next((k + len(part) for k in range(at, end - len(part) + 1) if printed[k:k + len(part)] == part), None)
        if at is None:
            return False
    return at <= end


class Page:
    """A page that is run: its lines, the folder it runs in, and what was wrong."""

    def __init__(self, path, program, environment):
        self.path, self.program, self.environment = path, program, environment
        self.lines = path.read_text().split("\n")
        self.wrong, self.failed, self.ran, self.left = 0, 0, 0, 0

    def execute(self, command):
        done = subprocess.run(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.ran += 1
        printed = done.stdout.decode()
        return printed.rstrip("\n").split("\n") if printed.strip() else [], done.returncode

    def judge(self, place, shown, printed, differs):
        """The lines that the page shall show, after laying what is shown beside what was printed."""
        if LEFT_OUT in shown[:-1]:
            return self.judge_excerpt(place, shown, printed)
        if shown and shown[-1] == LEFT_OUT:
            printed = printed[:len(shown) - 1] + [LEFT_OUT]
        blank = [[re.sub(differs, "", line) if differs else line for line in side] for side in (shown, printed)]
        if blank[0] == blank[1]:
            return shown
        self.wrong += 1
        print("\n".join(difflib.unified_diff(shown, printed, f"{self.path.name}: {place}", "printed", lineterm="")))
        return printed

    def judge_excerpt(self, place, shown, printed):
        """The same lines: which of an output are worth showing is for people to say."""
        if not is_excerpt(shown, printed):
            self.failed += 1
            print(f"{self.path.name}: {place}: these lines do not occur in the output in this order:", *shown, sep="\n")
            print("printed:", *printed, sep="\n")
        return shown

    def sh(self, content):
        for command in lines_of_sh(content):
            printed, status = self.execute(["bash", "-c", command])
            if status:
                self.failed += 1
                print(f"{self.path.name}: '{command}' ends with exit code {status}:", *printed[-10:], sep="\n")

    def console(self, content, differs):
        new = []
        for command, shown in commands_of(content):
            text = "\n".join(command)[2:]
            new += command + self.judge(text, shown, self.execute(["bash", "-c", text])[0], differs)
        return new

    def python(self, content):
        """The output of the block; None where its modules are not installed, or where it fails."""
        imports = "\n".join(line for line in content if line.startswith("import "))
        if subprocess.run([PYTHON, "-c", imports], stderr=subprocess.DEVNULL).returncode:
            print(f"{self.path.name}: Python not run, for want of a module: {imports}")
            self.left += 1
            return None
        printed, status = self.execute([PYTHON, "-c", "\n".join(content)])
        if status == 0:
            return printed
        self.failed += 1
        print(f"{self.path.name}: Python fails:", *printed, sep="\n")
        return None

    def block(self, block, behind):
        """The new content of a block; `behind` is what the Python block right above it printed."""
        content = self.lines[block.begin:block.end]
        if "not run" in block.marks or block.kind in LEFT_ALONE:
            self.left += "not run" in block.marks
            return content, None
        if block.kind not in RUN:
            raise ValueError(f'a block of kind "{block.kind}" is neither run nor marked "not run"')
        if block.kind == "console":
            return self.console(content, block.marks.get("differs")), None
        if block.kind == "sh":
            self.sh(content)
        if block.kind == "python":
            return content, self.python(content)
        if block.kind in ("yaml", "csv") and (name := re.match(rf"^# ([\w.]+\.{block.kind})$", content[0])):
            skipped = 1 if block.kind == "csv" else 0
            (self.folder / name[1]).write_text("\n".join(content[skipped:]) + "\n")
        elif block.kind == "text" and behind is not None:
            return self.judge("Python", content, behind, block.marks.get("differs")), None
        return content, None

    def check(self, source):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = Path(folder)
            (self.folder / "scenarios").symlink_to(source / "scenarios")
            (self.folder / "run.sh").symlink_to(self.program)
            new, last, behind = [], 0, None
            for block in blocks_of(self.lines):
                content, printed = self.block(block, behind)
                new += self.lines[last:block.begin] + content
                last, behind = block.end, printed
            return new + self.lines[last:]


def writers_of_names(source):
    """By each name that pages give with -o: the commands that write there, up to their first option, with their pages."""
    writers = {}
    for path in [source / "README.md", *sorted((source / "docs").glob("*.md")), *sorted((source / "docs/manual").glob("*.md"))]:
        for command in COMMAND.finditer(path.read_text()):
            writers.setdefault(command[2], {}).setdefault(command[1].strip(), set()).add(path.name)
    return writers


def count_shared_names(source):
    """Who follows all pages in one folder would have the second of two commands refused, or lose what the first wrote."""
    shared = {name: writers for name, writers in writers_of_names(source).items() if len(writers) > 1}
    for name, writers in shared.items():
        print(f"-o {name} is written by", "; ".join(f"'{command}' ({', '.join(sorted(pages))})" for command, pages in writers.items()))
    return len(shared)


def pages_named(source, names):
    """The pages of docs/manual, or those of them that are named. README.md is that of the source tree."""
    door = [source / "README.md"] if "README.md" in names else []
    manual = sorted((source / "docs/manual").glob("*.md"))
    return door + [p for p in manual if not names or (p.name in names and p.name != "README.md")]


def main(arguments):
    update = "--update" in arguments
    arguments = [a for a in arguments if a != "--update"]
    if len(arguments) < 2:
        print(__doc__)
        return 2
    binary, source = Path(arguments[0]).resolve(), Path(arguments[1]).resolve()
    names = arguments[2:]
    pages = pages_named(source, names)
    if len(pages) < len(names):
        print("no such page among", *names)
        return 2
    wrong = failed = ran = left = 0
    with tempfile.TemporaryDirectory() as programs:
        (Path(programs) / "shardsim").symlink_to(binary)
        environment = os.environ | {"PATH": programs + ":" + os.environ["PATH"], "LC_ALL": "C.UTF-8",
                                    "SHARDSIM_DATA": str(source)}
        for path in pages:
            page = Page(path, binary, environment)
            new = page.check(source)
            if update and new != page.lines:
                path.write_text("\n".join(new))
                print(f"{path.name}: updated")
            wrong, failed = wrong + page.wrong, failed + page.failed
            ran, left = ran + page.ran, left + page.left
    failed += count_shared_names(source)
    print(f"{len(pages)} pages, {ran} commands, {left} blocks not run, {failed} fail, {wrong} print something else than is shown")
    return 1 if failed or (wrong and not update) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
