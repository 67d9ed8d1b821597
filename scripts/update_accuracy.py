#!/usr/bin/env python3
"""Puts the tables of `shardsim collective compare` into docs/accuracy.md. Usage: update_accuracy.py ACCURACY.md DOCUMENT

ACCURACY.md is what the command wrote; in the document it replaces what stands between the two marks.
"""
import sys

BEGIN = "<!-- begin: written by shardsim collective compare -->\n"
END = "<!-- end -->\n"

if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        tables = file.read()
    with open(sys.argv[2], encoding="utf-8") as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{sys.argv[2]}: the marks are not there once each")
    head, rest = text.split(BEGIN)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(head + BEGIN + tables + END + rest.split(END)[1])
