#!/usr/bin/env python3
"""Writes the tables of keys in docs/formats/ as the program says them: each stands after a line "<!-- keys PATH -->".
With --check nothing is written, and a table that differs is named. Usage: reference_tables.py SHARDSIM SOURCE_DIR [--check]"""

import pathlib
import re
import subprocess
import sys

TABLE = re.compile(r"<!-- keys ([\w.]+) -->\n((?:\|.*\n)*)")

shardsim, source = sys.argv[1], pathlib.Path(sys.argv[2])
status = count = 0
for page in sorted((source / "docs" / "formats").glob("*.md")):
    text = page.read_text()
    if not TABLE.search(text):
        continue
    said = subprocess.run([shardsim, "schema", page.stem, "--keys"], capture_output=True, text=True, check=True).stdout
    tables = dict(TABLE.findall(said))

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
