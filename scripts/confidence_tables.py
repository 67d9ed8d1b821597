#!/usr/bin/env python3
"""Puts the tables that `shardsim confidence` prints into docs/confidence.md. Usage: confidence_tables.py TABLES.md DOCUMENT"""
import sys

from update_accuracy import put_between

BEGIN = "<!-- begin: written by shardsim confidence -->\n"
END = "<!-- end of what shardsim confidence wrote -->\n"

if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        put_between(BEGIN, END, "```\n" + file.read() + "```\n", sys.argv[2])
