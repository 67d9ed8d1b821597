#!/usr/bin/env python3
"""Puts the tables that `shardsim confidence` prints into docs/confidence.md. Usage: confidence_tables.py TABLES.md DOCUMENT"""
import sys

BEGIN = "<!-- begin: written by shardsim confidence -->\n"
END = "<!-- end of what shardsim confidence wrote -->\n"

if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        tables = file.read()
    with open(sys.argv[2], encoding="utf-8") as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{sys.argv[2]}: the marks are not there once each")
    head, rest = text.split(BEGIN)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(head + BEGIN + "```\n" + tables + "```\n" + END + rest.split(END)[1])
