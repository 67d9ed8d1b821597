#!/usr/bin/env python3
"""The tables of the shipped MLPerf workloads are those that scripts/criteo_popularity.py writes.

check_criteo_tables.py SOURCE_DIR"""

import pathlib
import subprocess
import sys

source = pathlib.Path(sys.argv[1])
for model in ("dcnv2", "dlrm"):
    made = subprocess.run([sys.executable, source / "scripts/criteo_popularity.py", model], check=True, capture_output=True, text=True)
    path = source / f"scenarios/workloads/mlperf_{model}.yaml"
    shipped = path.read_text().split("\ntables:\n", 1)[1]
    if shipped != made.stdout:
        sys.exit(f"{path}: 'tables' differs from what scripts/criteo_popularity.py {model} prints")
