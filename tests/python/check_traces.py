"""The scenario that `shardsim import` makes of a trace predicts the traced step; a third batch follows from two others; and docs/import.md has the
tables of today. Usage: check_traces.py SHARDSIM SOURCE_DIR"""

import pathlib
import subprocess
import sys

shardsim, source = sys.argv[1], pathlib.Path(sys.argv[2])
failures = checks = 0


def check(what, good):
    global failures, checks
    checks += 1
    if not good:
        failures += 1
        print("FAILED:", what)


printed = subprocess.run([sys.executable, str(source / "scripts/trace_tables.py"), shardsim, str(source)], capture_output=True, text=True)
check("the tables are printed: " + printed.stderr, printed.returncode == 0)
page = (source / "docs/import.md").read_text(encoding="utf-8")
for block in printed.stdout.strip().split("\n\n"):
    check("docs/import.md has the table of today:\n" + block, block in page)
tables = [[line.strip("| ").split(" | ") for line in block.splitlines()[2:]] for block in printed.stdout.strip().split("\n\n") if block.startswith("|")]
own, third, simulated = tables if len(tables) == 3 else ([], [], [])
check("the steps of 21 traces", len(own) == 21)
for row in own:
    check(f"{row[0]}: its own step within 2 %, not {row[3]} %", abs(float(row[3])) <= 2)
check("15 batches from two others", len(third) == 15)
for row in simulated:
    if row[1:3] == ["rank", "step"]:
        check(f"{row[0]} with simulated lookups and updates: its step within 10 %, not {row[5]} %", abs(float(row[5])) <= 10)
print(f"{checks} checks, {failures} failed")
sys.exit(failures > 0)
