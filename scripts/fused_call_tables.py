#!/usr/bin/env python3
"""Prints the table of docs/accuracy.md on fused calls of FBGEMM, from the comparison.json of `shardsim compute compare` of each file
of scenarios/measurements/fbgemm: rows that nothing was fitted on. Usage: fused_call_tables.py COMPARISON.json..."""

import json
import pathlib
import sys

print("| file | set | rows | forward: median % | p90 % | signed % | backward: median % | p90 % | signed % |")
print("|---|---|---|---|---|---|---|---|---|")
for name in sys.argv[1:]:
    comparison = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
    file = pathlib.Path(comparison["measurements"]).stem
    judged = {}
    for each in comparison["sets"]:
        judged.setdefault(each["set"], {})[each["call"]] = each["judging"]
    for of, calls in judged.items():
        figures = " | ".join("%.1f | %.1f | %+.1f" % tuple(calls[call][key + "_error_pct"] for key in ("median_abs", "p90_abs", "signed"))
                             for call in ("forward", "backward"))
        print("| `%s` | %s | %d | %s |" % (file, of, calls["forward"]["rows"], figures))
