#!/usr/bin/env python3
"""A report is small, and its first screen is drawn in a second: by the processor time of Chromium's renderer, since the
clock of a busy computer says little, with its own timing beside that. Usage: speed_check.py REPORT.html"""
import os
import sys

from devtools import Browser

MOST_BYTES, MOST_MS = 1_000_000, 1000

report = os.path.realpath(sys.argv[1])
size = os.path.getsize(report)
with Browser() as browser:
    page = browser.page("about:blank", 1440, 900)
    page.call("Performance.enable")
    # What is done when there is nothing else to do is not counted.
    page.call("Page.addScriptToEvaluateOnNewDocument", source="window.requestIdleCallback = function () {};")
    page.call("Page.navigate", url="file://" + report)
    page.wait_for("document.documentElement.dataset.first")
    used = 1e3 * next(each["value"] for each in page.call("Performance.getMetrics")["metrics"] if each["name"] == "ProcessTime")
    first = int(page.evaluate("document.documentElement.dataset.first"))
    loaded = page.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart")
    # Paper shows what nobody has scrolled to.
    other = browser.page("file://" + report, 1440, 900)
    other.wait_for("document.documentElement.dataset.charts")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    waiting = page.evaluate("document.querySelectorAll('.chart.waiting').length")
print(f"{size} bytes; the first screen is drawn after {first} ms, loaded after {loaded} ms, with {used:.0f} ms of a CPU")
if waiting:
    print(f"speed_check: {waiting} charts are not drawn for paper", file=sys.stderr)
if size >= MOST_BYTES:
    print(f"speed_check: {size} bytes, not under {MOST_BYTES}", file=sys.stderr)
if used >= MOST_MS:
    print(f"speed_check: {used:.0f} ms of a CPU, not under {MOST_MS}", file=sys.stderr)
sys.exit(int(size >= MOST_BYTES or used >= MOST_MS or waiting > 0))
