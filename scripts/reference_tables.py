#!/usr/bin/env python3
"""Writes the tables of keys in docs/formats/ as the program says them: each stands after a line "<!-- keys PATH -->".
With --check nothing is written, and a table that differs is named, and so is one that stands nowhere on its page though no other text there
names its keys. Usage: reference_tables.py SHARDSIM SOURCE_DIR [--check]"""

import pathlib
import re
import subprocess
import sys

TABLE = re.compile(r"<!-- keys ([\w.]+) -->\n((?:\|.*\n)*)")
KEY = re.compile(r"^\| `(\w+)`", re.MULTILINE)


def keys_of_no_text(tables, page):
    """Tables of the program that the page has not, with those of their keys that it names nowhere."""
    there = {path for path, _ in TABLE.findall(page)}
    for path in sorted(set(tables) - there):
        missing = [key for key in KEY.findall(tables[path]) if not re.search(rf"\b{key}\b", page)]
        if missing:
            yield path, missing


shardsim, source = sys.argv[1], pathlib.Path(sys.argv[2])
status = count = 0
for page in sorted((source / "docs" / "formats").glob("*.md")):
    text = page.read_text()
    if not TABLE.search(text):
        continue
    said = subprocess.run([shardsim, "schema", page.stem, "--keys"], capture_output=True, text=True, check=True).stdout
    tables = dict(TABLE.findall(said))
    for path, missing in keys_of_no_text(tables, text):
        status = 1
        print(f"{page.relative_to(source)}: nothing says what {', '.join(missing)} of {path} {'is' if len(missing) == 1 else 'are'}; "
              f"write a line <!-- keys {path} --> where its table is to stand")

    def of_program(match):
        global count
        count += 1
        return f"<!-- keys {match[1]} -->\n{tables[match[1]]}"

    written = TABLE.sub(of_program, text)
    if written == text:
        continue
    if "--check" not in sys.argv:
        page.write_text(written)
        continue
    status = 1
    for path, table in TABLE.findall(text):
        if table != tables[path]:
            print(f"{page.relative_to(source)}: the table of {path} is not what the program says; write it with "
                  "scripts/reference_tables.py SHARDSIM .")
print(count, "tables")
sys.exit(status or count == 0)
