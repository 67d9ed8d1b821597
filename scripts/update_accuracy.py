#!/usr/bin/env python3
"""Puts the tables of `shardsim collective compare` into docs/accuracy.md. Usage: update_accuracy.py ACCURACY.md DOCUMENT

ACCURACY.md is what the command wrote; in the document it replaces what stands between the two marks.
"""
import sys

BEGIN = "<!-- begin: written by shardsim collective compare -->\n"
END = "<!-- end -->\n"


def put_between(begin, end, tables, document):
    """Puts the text `tables` between the two marks of the file `document`, in place of what stands there."""
    with open(document, encoding="utf-8") as file:
        text = file.read()
    head, mark, rest = text.partition(begin)
    _, end_mark, tail = rest.partition(end)
    if not mark or not end_mark or begin in rest:
        sys.exit(f"{document}: the marks are not there once, one after the other")
    with open(document, "w", encoding="utf-8") as file:
        file.write(head + begin + tables + end + tail)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        put_between(BEGIN, END, file.read(), sys.argv[2])
