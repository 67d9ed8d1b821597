#!/usr/bin/env python3
"""Looks at the timeline of a report: it is drawn, zooms by wheel, drag and keys down to a microsecond, says what it shows
and what is pointed at, follows the critical path, is whole on paper, and fits every window. Usage: timeline_check.py
REPORT.html"""
import os
import re
import sys

from devtools import Browser

report = "file://" + os.path.realpath(sys.argv[1])
PLACE = "document.querySelector('section.timeline .own-chart')"
failures = []


def check(what, holds):
    if not holds:
        failures.append(what)
        print("timeline_check:", what, file=sys.stderr)


def settled(page):
    page.evaluate("new Promise(function (done) { requestAnimationFrame(function () { requestAnimationFrame(done); }); })")


def shown(page):
    settled(page)
    return [float(number) for number in page.evaluate(PLACE + ".dataset.drawn").split()]


def text(page, part):
    return page.evaluate(f"{PLACE}.querySelector('.own-{part}').textContent")


def canvas_box(page):
    return page.evaluate(f"(function () {{ var box = {PLACE}.querySelector('canvas').getBoundingClientRect();"
                         "return [box.x, box.y, box.width, box.height]; })()")


def mouse(page, kind, x, y, **more):
    page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)


def drag(page, x, to, y):
    mouse(page, "mousePressed", x, y, button="left", clickCount=1)
    for step in range(1, 5):
        mouse(page, "mouseMoved", x + (to - x) * step / 4, y, button="left", buttons=1)
    mouse(page, "mouseReleased", to, y, button="left", clickCount=1)


def colours(page):
    return page.evaluate(f"""(function () {{ var canvas = {PLACE}.querySelector('canvas'), seen = {{}};
        var data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        for (var at = 0; at < data.length; at += 4) seen[data[at] + ',' + data[at + 1] + ',' + data[at + 2]] = 1;
        return Object.keys(seen); }})()""")


with Browser() as browser:
    page = browser.page(report, 1440, 1000)
    page.wait_for("document.documentElement.dataset.charts")
    page.evaluate(PLACE + ".scrollIntoView()")
    page.wait_for(PLACE + ".dataset.drawn")
    first, whole = shown(page)
    least = min(0.001, whole / 100)
    check("it does not begin with the whole iteration", first == 0 and whole > 0)
    check(f"it does not say that it shows the whole: {text(page, 'range')}", text(page, "range").startswith("Shows the whole "))
    check("nothing is drawn in colour", len(colours(page)) > 4)
    path = page.evaluate(f"{PLACE}.querySelector('.own-tools').textContent.indexOf('step') >= 0")
    gpus = page.evaluate("JSON.parse(document.querySelector('script[data-own=timeline]').textContent).sets.view[0][2]")
    check(f"there is no critical path, and {gpus} GPUs are not too many for one", path or gpus > 2048)
    check("the line of the critical path is not drawn", "176,0,32" in colours(page) or not path)

    left, top, width, height = canvas_box(page)
    middle, y = left + 0.7 * width, top + 40
    before = page.evaluate("window.scrollY")
    mouse(page, "mouseWheel", middle, y, deltaX=0, deltaY=-100)
    check("the wheel zooms before somebody chose the chart, so nobody can scroll past it", shown(page) == [0, whole])
    page.evaluate(f"window.scrollTo(0, {before})")
    page.evaluate(PLACE + ".scrollIntoView()")
    settled(page)
    left, top, width, height = canvas_box(page)
    y = top + 40
    page.evaluate(f"{PLACE}.querySelector('canvas').focus()")
    for _ in range(3):
        mouse(page, "mouseWheel", middle, y, deltaX=0, deltaY=-100)
    start, end = shown(page)
    check(f"the wheel does not zoom in: {start} to {end}", 0.1 * whole < end - start < 0.5 * whole)
    check(f"the range is not told in words: {text(page, 'range')}", re.match(r"Shows [\d.,]+ .s to [\d.,]+ .s: [\d.,]+ .s of ", text(page, "range")))
    drag(page, middle, middle - 100, y)
    moved, _ = shown(page)
    check("a drag does not move what is shown", moved > start)
    page.press("0")
    check("the key 0 does not show the whole", shown(page) == [0, whole])
    drag(page, left + 0.5 * width, left + 0.6 * width, y)
    start, end = shown(page)
    check(f"a drag across the whole does not zoom to what it marks: {start} to {end}", 0 < start < end < whole and end - start < 0.2 * whole)
    page.press("ArrowRight")
    check("the arrow to the right does not move", shown(page)[0] > start)
    page.press("ArrowLeft")
    page.press("-")
    check("the key - does not zoom out", shown(page)[1] - shown(page)[0] > 1.2 * (end - start))
    for _ in range(80):
        page.press("+")
    start, end = shown(page)
    check(f"the keys zoom to {end - start} ms, not to {least}", abs(end - start - least) < 2e-6)
    check(f"the range is not told in microseconds: {text(page, 'range')}", "\u00b5s" in text(page, "range"))
    page.press("0")
    if path:
        page.press("n")
        check(f"the critical path does not begin with its first step: {text(page, 'told')}", text(page, "told").startswith("Step 1 of "))
    page.press("ArrowDown")
    page.press("Enter")
    check("Enter does not zoom to what is chosen", shown(page)[1] - shown(page)[0] < whole)
    page.press("0")
    page.press("ArrowDown")
    told = text(page, "told")
    check(f"the arrow down does not tell of a lane of a GPU: {told}", re.match(r"GPU \d+ \(node \d+\), .*: .* from .* on", told))
    page.press(".")
    check("a full stop does not go to the next operation", text(page, "told") != told)
    check("names are told with underscores", "_" not in text(page, "told"))
    mouse(page, "mouseMoved", left + 0.45 * width, top + 31)
    pointed = text(page, "told")
    check("pointing tells nothing", pointed != told and ": " in pointed)

    page.press("+")
    zoomed = shown(page)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    check("paper does not show the whole", shown(page) == [0, whole])
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    check("after printing the zoom is lost", shown(page) == zoomed)
    check("the same does not stand there as tables", page.evaluate("document.querySelectorAll('section.timeline details.data table').length") == 5)
    page.press("0")
    for width, dark in ((360, False), (768, True), (1440, False), (3840, True)):
        page.size(width, 900, dark)
        page.wait_for(f"Math.abs({PLACE}.querySelector('canvas').clientWidth - {PLACE}.clientWidth) < 2")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        check(f"at {width} px the page is {wide} px wider than its window", wide == 0)
        overlaps = page.evaluate(f"""(function () {{ var parts = Array.from({PLACE}.children).map(function (e) {{ return e.getBoundingClientRect(); }});
            return parts.filter(function (box, at) {{ return at && box.top < parts[at - 1].bottom - 0.5; }}).length; }})()""")
        check(f"at {width} px {overlaps} parts of the timeline cover each other", overlaps == 0)
    print(f"timeline of {whole:.6g} ms, zoomed to {1000 * least:.3g} us")
sys.exit(bool(failures))
