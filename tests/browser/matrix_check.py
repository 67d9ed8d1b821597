#!/usr/bin/env python3
"""Looks at the matrix of the plan in a report: it is drawn, tells what is pointed at, by mouse and by keys, finds tables,
and fits a narrow window. Usage: matrix_check.py REPORT.html"""
import os
import sys

from devtools import Browser

report = "file://" + os.path.realpath(sys.argv[1])
failures = []


def check(what, holds):
    if not holds:
        failures.append(what)
        print("matrix_check:", what, file=sys.stderr)


def told(page):
    return page.evaluate("document.querySelector('.matrix-cell').textContent")


def size_drawn(page):
    return [int(number) for number in page.evaluate("document.querySelector('.matrix').dataset.drawn").split("x")]


with Browser() as browser:
    page = browser.page(report)
    page.wait_for("document.documentElement.dataset.charts")
    page.evaluate("document.querySelector('section.plan_matrix').scrollIntoView()")
    page.wait_for("document.querySelector('.matrix[data-drawn]')")
    print("drawn", round(page.evaluate("performance.now()")), "ms after it was asked for, at the latest;",
          "its scripts ran by", round(page.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart")), "ms")
    tables, columns = size_drawn(page)
    check("no table is drawn", tables > 0 and columns > 0)
    page.evaluate("document.querySelector('.matrix').scrollIntoView()")
    left, top, width, _ = page.evaluate(
        "(function () { var box = document.querySelector('.matrix canvas').getBoundingClientRect(); return [box.x, box.y, box.width, box.height]; })()")
    page.move_mouse(left + width - 3, top + 8)
    first = told(page)
    check(f"pointing at the last column of the first table tells nothing: {first}", " on GPU" in first and f" {columns - 1} " in first or columns > 256)
    page.evaluate("document.querySelector('.matrix canvas').focus()")
    page.press("ArrowLeft")
    check("an arrow key goes nowhere", told(page) != first)
    colours = page.evaluate("""(function () { var canvas = document.querySelector('.matrix canvas');
        var data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, seen = {};
        for (var at = 0; at < data.length; at += 4) seen[data[at] + ',' + data[at + 1] + ',' + data[at + 2] + ',' + data[at + 3]] = 1;
        return Object.keys(seen).length; })()""")
    check(f"only {colours} colours are drawn", colours > 2)
    name = first.split(" on ")[0]
    find = """(function () {{ var field = document.querySelector('.matrix-tools .filter'); field.value = {0};
        field.dispatchEvent(new Event('input')); }})()"""
    page.evaluate(find.format(repr(name)))
    check("a table is not found by its name", 1 <= size_drawn(page)[0] <= tables)
    page.evaluate(find.format("'no such table'"))
    check("a name that no table has finds some", size_drawn(page)[0] == 0)
    page.evaluate(find.format("''"))
    check("the tables do not come back", size_drawn(page)[0] == tables)
    for figure in ("lookups", "time_ms"):
        before = page.evaluate("document.querySelector('.matrix-scale').textContent")
        page.evaluate(f"""(function () {{ var what = Array.from(document.querySelectorAll('.matrix-tools select')).pop();
            what.value = '{figure}'; what.dispatchEvent(new Event('change')); }})()""")
        check(f"{figure} has the scale of what was before", page.evaluate("document.querySelector('.matrix-scale').textContent") != before)
    check("the same does not stand there as a table", page.evaluate(
        "document.querySelectorAll('section.plan_matrix details.data table').length") == 3)
    for width, dark in ((360, False), (768, True), (1440, False), (3840, True)):
        page.size(width, 900, dark)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        check(f"at {width} px the page is {wide} px wider than its window", wide == 0)
    print(f"matrix of {tables} tables and {columns} columns")
sys.exit(bool(failures))
