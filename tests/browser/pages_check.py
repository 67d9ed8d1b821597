#!/usr/bin/env python3
"""Makes pages of sweep, drift, compared planners, run and compare, and looks at them: the answer stands on the first screen,
nothing is wider than its window or covers something else at five widths in both themes, points and days are chosen by mouse
and keys and told in words, axes and the points that fit are a reader's choice, and wide screens are used.
Exit 77 (skipped) without Chromium. Usage: pages_check.py SHARDSIM SOURCE_DIR [PAGES]     PAGES: of shared_pages.py"""
import os
import re
import subprocess
import sys
import tempfile
import time

from devtools import Browser, find_browser
from shared_pages import shared_pages

failures = []
PAINTED = "new Promise(function (done) { requestAnimationFrame(function () { requestAnimationFrame(done); }); })"
WIDTHS = (360, 768, 1440, 1920, 3840)
# Boxes of one level that cover each other: blocks of the page, and the parts of a chart.
COVERED = """(function () {
  var found = [];
  document.querySelectorAll('body > *, main > *, section > *, .own-chart > *, .own-tools > *').forEach(function (element) {
    var next = element.nextElementSibling, a = element.getBoundingClientRect();
    if (!next || !a.height || !a.width) return;
    var b = next.getBoundingClientRect();
    if (b.height && b.width && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
      found.push(element.tagName + '.' + element.className + ' and ' + next.tagName + '.' + next.className);
  });
  return found;
})()"""


# Tables and charts that are wider than their window without a word of it.
CUT_SILENTLY = """Array.from(document.querySelectorAll('.scroll, .chart')).filter(function (box) {
  return box.checkVisibility({contentVisibilityAuto: true}) && box.scrollWidth > box.clientWidth + 1 && !/scroll/.test(getComputedStyle(box, '::before').content);
}).map(function (box) { return box.id || box.getAttribute('aria-label') || box.className; })"""
LINES_OF_ANSWER = """(function () {
  var answer = document.querySelector('.summary');
  return Math.round(answer.getBoundingClientRect().height / parseFloat(getComputedStyle(answer).lineHeight));
})()"""


def check(what, holds):
    if not holds:
        failures.append(what)
        print("pages_check:", what, file=sys.stderr)


def opened(browser, path, chart=None):
    page = browser.page("file://" + path, 1440, 900)
    page.wait_for("document.readyState === 'complete'")
    if chart:
        page.evaluate(f"document.querySelector('section.{chart}').scrollIntoView()")
        page.wait_for(f"document.querySelector('.own-chart.{chart}').dataset.drawn")
    return page


# The darkest and the lightest label of the axes that Vega has drawn, of 255.
LABELS = """(function () {
  var all = [].map.call(document.querySelectorAll('.chart svg .role-axis-label text'), function (text) {
    return Math.max.apply(null, getComputedStyle(text).fill.match(/[0-9]+/g).map(Number));
  });
  return all.length ? [Math.min.apply(null, all), Math.max.apply(null, all)] : null;
})()"""


def has_ink(page, at, light):
    labels = page.evaluate(LABELS)
    check(f"{at}: labels of charts have {labels} of 255", labels is None or (labels[0] > 150 if light else labels[1] < 120))


def follows_theme(page, name):
    """Charts that are drawn change with the page, and go to white paper from either; a reader's place in them is kept."""
    page.size(360, 900)
    page.wait_for("document.documentElement.dataset.charts", 240)
    scroll = "Array.from(document.querySelectorAll('.chart')).map(function (each) { if (%s) each.scrollLeft = 40; return each.scrollLeft; })"
    page.size(360, 900, True)  # drawn anew, for this window
    page.evaluate(PAINTED)
    time.sleep(0.5)
    before = page.evaluate(scroll % "true")
    for dark in (False, True):
        page.size(360, 900, dark)
        page.evaluate(PAINTED)
        has_ink(page, f"{name}, become {'dark' if dark else 'light'}", dark)
    check(f"{name}: a chart loses its place when the page becomes dark", page.evaluate(scroll % "false") == before)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    has_ink(page, f"{name}, dark, on paper", False)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    has_ink(page, f"{name}, dark, after printing", True)
    pictures = "[document.querySelectorAll('.chart svg').length, document.querySelectorAll('.chart').length]"
    drawn_now, charts = page.evaluate(pictures)
    check(f"{name}: {drawn_now} pictures of {charts} charts", drawn_now == charts)
    page.size(1440, 900)


def fits_windows(page, name):
    for width in WIDTHS:
        for dark in (False, True):
            page.size(width, 900, dark)
            page.evaluate("window.scrollTo(0, 0); " + PAINTED)
            at = f"{name} at {width} px, {'dark' if dark else 'light'}"
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            check(f"{at}: {wide} px wider than its window", wide == 0)
            covered = page.evaluate(COVERED)
            check(f"{at}: these cover each other: {covered}", not covered)
            answer = page.evaluate("document.querySelector('.summary').getBoundingClientRect().top")
            check(f"{at}: the answer is not on the first screen", answer < 450)
            used = page.evaluate("document.querySelector('main').clientWidth")
            check(f"{at}: no more than {used} px of the screen are used", used > 0.75 * width)
            lines = page.evaluate(LINES_OF_ANSWER)
            check(f"{at}: the answer takes {lines} lines", width < 1440 or lines <= 4)
    page.size(360, 900)
    height = page.evaluate("document.documentElement.scrollHeight")
    for top in range(0, int(height), 800):  # what is off the screen is not laid out
        page.evaluate(f"window.scrollTo(0, {top}); " + PAINTED)
        for _ in range(20):  # charts are drawn anew where the theme changed with the window
            silent = page.evaluate(CUT_SILENTLY)
            if not silent:
                break
            page.evaluate(PAINTED)
            time.sleep(0.1)
        check(f"{name}: at 360 px these are cut and do not say that they scroll: {silent}", not silent)
    page.size(1440, 900)


def text(page, part):
    return page.evaluate(f"document.querySelector('.own-{part}').textContent")


def set_field(page, number, value):
    page.evaluate(f"""(function () {{ var field = document.querySelectorAll('.own-tools select')[{number}]; field.value = '{value}';
        field.dispatchEvent(new Event('change')); }})()""")


def drawn(page):
    return [int(float(number)) for number in page.evaluate("document.querySelector('.own-chart').dataset.drawn").split()]


def press(page, *keys):
    page.evaluate("document.querySelector('.own-chart canvas').focus()")
    for key in keys:
        page.press(key)


def hovered(page):
    """What is told of some place of the picture where something is."""
    x, y, width, height = page.evaluate("(function () { var b = document.querySelector('.own-chart canvas').getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()")
    seen = set()
    for step in range(600):
        page.move_mouse(x + width * (step % 30 + 0.5) / 30, y + height * (step // 30 + 0.5) / 20)
        seen.add(text(page, "told"))
    return seen


def look_at_sweep(browser, path):
    page = opened(browser, path, "sweep_points")
    points, front = drawn(page)
    check(f"{points} points, not the 15 of the sweep", points == 15)
    check(f"{front} points on the front", 1 <= front < points)
    check("the answer does not say what it costs", "A million samples cost" in page.evaluate("document.querySelectorAll('.summary')[1].textContent"))
    check(f"the front is not told: {text(page, 'range')}", re.search(r"\d+ on the front: no other one has less .* and (more|less) ", text(page, "range")))
    press(page, "f")
    told = text(page, "told")
    check(f"F does not go to the front: {told}", told.endswith("On the front.") and "samples per second" in told)
    press(page, "ArrowRight")
    check("an arrow goes nowhere", text(page, "told") != told)
    check("no point can be pointed at", len(hovered(page)) > 1)
    for number, value in ((0, "memory_gib"), (1, "iteration_ms")):
        set_field(page, number, value)
    check(f"memory and time have no front: {text(page, 'range')}", "less memory of the fullest GPU and less time of an iteration" in text(page, "range"))
    set_field(page, 0, "workload.batch_per_gpu")
    check("an axis of the sweep has a front, although neither end is better", drawn(page)[1] == 0)
    check("points cannot be sorted", page.evaluate("document.querySelectorAll('.sort').length") > 5)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    check("paper has another picture", drawn(page)[0] == points)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    follows_theme(page, "the sweep")
    fits_windows(page, "the sweep")


def look_at_unpriced_sweep(browser, path):
    """Without prices no cost is drawn, and points are told apart by what they take."""
    page = opened(browser, path, "sweep_points")
    across = page.evaluate("document.querySelector('.own-tools select').value")
    offered = page.evaluate("Array.from(document.querySelector('.own-tools select').options).map(function (each) { return each.value; })")
    check(f"points without a price are drawn over {across} of {offered}", across == "memory_gib" and "cost" not in offered)
    front = text(page, "range")
    check(f"without a price there is a front of cost: {front}", "cost" not in front and "on the front" in front)
    rows = page.evaluate("""(function () { var at = Array.from(document.querySelectorAll('h2, h3')).find(function (each) { return /between machines/i.test(each.textContent); });
        return Array.from(at.parentNode.querySelectorAll('tbody tr')).map(function (row) { return Array.from(row.cells).map(function (cell) { return cell.textContent.trim(); }); }); })()""")
    equal = [row for row in rows if row[2] == "equal"]
    check(f"points that are equal have {len(equal)} rows: {equal}", equal == [["400 Gbit/s to 800 Gbit/s, 4096", "each other", "equal"]])
    narrow = browser.page("file://" + path, 360, 900)
    narrow.wait_for("document.documentElement.dataset.charts", 240)
    check("at 360 px the points do not show what they give", {"rate", "batch_per_gpu", "samples/s"} <= set(heads_in_sight(narrow, "Points")))


# The heads of the table below a heading that can be seen without scrolling.
def heads_in_sight(page, heading):
    page.evaluate(f"Array.from(document.querySelectorAll('h2, h3, summary')).find(function (each) {{ return each.textContent.startsWith('{heading}'); }}).scrollIntoView(); " + PAINTED)
    page.evaluate(PAINTED)
    return page.evaluate(f"""(function () {{ var at = Array.from(document.querySelectorAll('h2, h3, summary')).find(function (each) {{ return each.textContent.startsWith('{heading}'); }});
        return Array.from(at.parentNode.querySelector('table').tHead.rows[0].cells).filter(function (cell) {{
        var box = cell.getBoundingClientRect(); return box.width > 0 && box.right <= document.documentElement.clientWidth; }}).map(function (cell) {{ return cell.textContent.trim(); }}); }})()""")


def look_at_waiting(browser, path):
    """Who is faster than a chart sees that it is being drawn, and it is drawn when it is scrolled to."""
    page = browser.page("about:blank", 360, 900)
    page.call("Page.addScriptToEvaluateOnNewDocument", source="window.requestIdleCallback = function () {};")  # nothing in advance
    page.call("Page.navigate", url="file://" + path)
    page.wait_for("document.documentElement.dataset.first", 240)
    waiting = page.evaluate("""Array.from(document.querySelectorAll('.chart.waiting, .own-chart:empty')).map(function (each) {
        return getComputedStyle(each, '::before').content; })""")
    check(f"charts that wait say {waiting}", waiting and all("Drawing" in each or "script" in each for each in waiting))
    for at in range(page.evaluate("document.querySelectorAll('.chart').length"))[::-1]:
        page.evaluate(f"document.querySelectorAll('.chart')[{at}].scrollIntoView()")
        page.wait_for(f"document.querySelectorAll('.chart')[{at}].querySelector('svg') && !document.querySelectorAll('.chart')[{at}].classList.contains('waiting')")


def look_at_paper(browser, path, name):
    """Paper shows all, and nothing that wants a hand; afterwards the page is as it was."""
    page = opened(browser, path)
    page.wait_for("document.documentElement.dataset.charts", 240)
    folded = "document.querySelectorAll('details:not(.data):not([open])').length"
    before, pictures = page.evaluate(folded), page.evaluate("document.querySelectorAll('.chart').length")
    page.call("Emulation.setEmulatedMedia", media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint')); " + PAINTED)
    check(f"{name}: {page.evaluate(folded)} sections stay folded on paper", page.evaluate(folded) == 0)
    check(f"{name}: not every chart is drawn on paper", page.evaluate("document.querySelectorAll('.chart svg').length") == pictures)
    tools = page.evaluate("""Array.from(document.querySelectorAll('.filter, .own-tools, .own-help, .also, .matrix-box > canvas, details.data')).filter(function (each) {
        return each.getClientRects().length > 0; }).map(function (each) { return each.className; })""")
    check(f"{name}: paper shows {tools}", not tools)
    arrows = page.evaluate("Array.from(document.querySelectorAll('.sort')).filter(function (each) { return getComputedStyle(each).display !== 'contents' || getComputedStyle(each, '::after').display !== 'none'; }).length")
    check(f"{name}: paper shows arrows to sort by, or a button that keeps the head of a table from standing on each page", arrows == 0)
    covered = page.evaluate("""(function () { var blocks = Array.from(document.querySelectorAll('.own-chart, .own-chart + script + details, main > section')), found = [];
        document.querySelectorAll('.own-chart').forEach(function (chart) { var end = chart.getBoundingClientRect().bottom;
          chart.querySelectorAll('canvas').forEach(function (each) { var box = each.getBoundingClientRect(); if (box.height && box.bottom > end + 1) found.push(chart.id); }); });
        return found; })()""")
    check(f"{name}: on paper these charts cover what follows: {covered}", not covered)
    page.evaluate("window.dispatchEvent(new Event('afterprint')); " + PAINTED)
    page.call("Emulation.setEmulatedMedia", media="screen")
    check(f"{name}: {before} sections were folded before printing, {page.evaluate(folded)} are after it", page.evaluate(folded) == before)


def look_at_full_sweep(browser, path):
    page = opened(browser, path, "sweep_points")
    hidden = "Array.from(document.querySelectorAll('tr.unfit')).length"
    some, over = drawn(page)[0], page.evaluate(hidden)
    check("no point is too large for a GPU, so this tests nothing", over > 0)
    page.evaluate("(function () { var box = document.querySelector('.own-tools input'); box.checked = false; box.dispatchEvent(new Event('change')); })()")
    check("points that do not fit are not drawn when one asks for them", drawn(page)[0] > some)
    check("points that do not fit stay hidden in the table", page.evaluate(hidden) == 0)


def look_at_drift(browser, path):
    page = opened(browser, path, "drift_days")
    check(f"{drawn(page)[0]} days", drawn(page)[0] == 31)
    press(page, "ArrowRight", "ArrowRight")
    check(f"the arrows do not go to the next day: {text(page, 'told')}", text(page, "told").startswith("Day 1: the kept plan takes "))
    check("a day cannot be pointed at", any(each.startswith("Day 1") for each in hovered(page)))
    set_field(page, 0, "memory")
    check("the figure is not told", page.evaluate("document.querySelector('.own-chart canvas').getAttribute('aria-label')").startswith("memory"))
    fits_windows(page, "drift")


def look_at_planners(browser, path):
    page = opened(browser, path)
    rows = page.evaluate("""(function () { var at = Array.from(document.querySelectorAll('section > h2')).find(function (e) {
        return e.textContent === 'Each planner on each case'; }); return at ? Array.from(at.parentNode.querySelectorAll('tbody tr')).map(function (row) {
        return Array.from(row.cells).map(function (cell) { return cell.textContent.trim(); }); }) : []; })()""")
    check(f"{len(rows)} rows of cases in the matrix of planners", len(rows) == 2)
    for row in rows:
        check(f"nobody is best in {row}", "1.000" in row[2:])
    follows_theme(page, "planners")
    fits_windows(page, "planners")


def look_at_run(browser, path):
    page = opened(browser, path)
    headings = page.evaluate("Array.from(document.querySelectorAll('main > section > h2')).map(function (each) { return each.textContent; })")
    check(f"the plans and the bar of their parts come first: {headings[:2]}", headings[:2] == ["Plans", "What an iteration is made of"])
    page.size(1920, 1080)
    tops = page.evaluate("Array.from(document.querySelectorAll('main > section')).slice(0, 2).map(function (each) { return each.getBoundingClientRect().top; })")
    check(f"they do not stand beside each other: {tops}", tops[0] == tops[1] < 500)
    follows_theme(page, "run")
    fits_windows(page, "run")


def look_at_narrow(browser, path):
    """A page that is opened in a narrow window has charts for it."""
    for width, wide_allowed in ((768, 0), (360, 3)):  # names of ranks and of plans have no room on a telephone
        page = browser.page("file://" + path, width, 900)
        page.wait_for("document.documentElement.dataset.charts", 240)
        good, charts = page.evaluate("document.documentElement.dataset.charts").split("/")
        check(f"at {width} px {good} of {charts} charts are drawn", good == charts)
        wide = page.evaluate("""Array.from(document.querySelectorAll('.chart')).filter(function (each) {
            return each.scrollWidth > each.clientWidth + 8; }).map(function (each) { return each.id; })""")
        check(f"at {width} px these charts scroll: {wide}", len(wide) <= wide_allowed and "breakdown" not in wide)


def look_at_narrow_answers(browser, path, heading, wanted):
    """A telephone shows the figures that a table is there for, beside the names of its rows."""
    page = browser.page("file://" + path, 360, 900)
    page.wait_for("document.readyState === 'complete'")
    heads = heads_in_sight(page, heading)
    check(f"at 360 px the table {heading} shows {heads}, and not {wanted}", set(wanted) <= set(heads))


def look_at_turned(browser, path):
    """A telephone that is turned, and sections that are unfolded after their charts were drawn."""
    page = browser.page("file://" + path, 1440, 900)
    page.wait_for("document.documentElement.dataset.charts", 240)
    page.size(360, 900)
    page.evaluate("document.querySelectorAll('details:not(.data)').forEach(function (each) { each.open = true; })")
    for at in range(page.evaluate("document.querySelectorAll('.chart').length")):
        page.evaluate(f"document.querySelectorAll('.chart')[{at}].scrollIntoView(); " + PAINTED)
        over = f"(function () {{ var box = document.querySelectorAll('.chart')[{at}]; return box.scrollWidth - box.clientWidth; }})()"
        name = page.evaluate(f"document.querySelectorAll('.chart')[{at}].id")
        try:
            page.wait_for(over + " <= 60", 20)  # names of ranks and of plans have no room on a telephone
        except TimeoutError:
            check(f"turned to 360 px, the chart {name} is {page.evaluate(over)} px wider than its window", False)


def look_at_narrow_planners(browser, path):
    for width in (768, 360):
        page = browser.page("file://" + path, width, 900)
        page.wait_for("document.documentElement.dataset.charts", 240)
        page.evaluate("document.querySelector('section.planners').scrollIntoView(); " + PAINTED)
        wide = page.evaluate("(function () { var box = document.querySelector('section.planners .chart'); return box.scrollWidth - box.clientWidth; })()")
        check(f"at {width} px the chart of planners is {wide} px wider than its window", wide <= 0)


WIDE_BOXES = """Array.from(document.querySelectorAll('.scroll, .chart')).filter(function (box) {
  return box.checkVisibility({contentVisibilityAuto: true}) && box.scrollWidth > box.clientWidth + 1; }).map(function (box) {
  return box.id || box.getAttribute('aria-label') || box.className; })"""
LEFT_OUT = "Array.from(document.querySelectorAll('th.left-out')).filter(function (each) { return each.closest('%s'); }).length"


def look_at_narrow_tables(browser, path, name):
    """A table goes without the columns that its window has no room for, names them, and shows them when asked to."""
    for width in (768, 360):
        page = browser.page("file://" + path, width, 900)
        page.wait_for("document.documentElement.dataset.charts", 240)
        height = page.evaluate("document.documentElement.scrollHeight")
        for top in range(0, int(height), 800):
            page.evaluate(f"window.scrollTo(0, {top}); " + PAINTED)
            wide = page.evaluate(WIDE_BOXES)
            check(f"{name} at {width} px: these scroll sideways: {wide}", not wide)
    left_out = page.evaluate(LEFT_OUT % "table")
    check(f"{name} at 360 px: no column is left out, so this tests nothing", left_out > 0)
    note = page.evaluate("document.querySelector('.also:not([hidden])').textContent")
    missing = page.evaluate("Array.from(document.querySelector('.also:not([hidden])').previousElementSibling.querySelectorAll('th.left-out')).map(function (each) { return each.textContent.trim(); })")
    check(f"{name}: '{note}' does not name {missing}", note == "A wider window also shows: " + ", ".join(missing) + ". show all columns")
    page.evaluate("document.querySelector('.also:not([hidden]) button').click(); " + PAINTED)
    check(f"{name}: columns that are asked for stay away", page.evaluate(LEFT_OUT % "table") < left_out)
    page.size(1440, 900)
    page.evaluate(PAINTED)
    page.evaluate("document.querySelector('.also:not([hidden]) button').click(); " + PAINTED)
    check(f"{name}: a wide window leaves columns out", page.evaluate("Array.from(document.querySelectorAll('main > section')).every(function (each) { return !each.querySelector(':scope > .scroll th.left-out'); })"))


def look_at_tables(browser, path, name):
    """A page of tables and charts, each with its numbers."""
    page = opened(browser, path)
    page.wait_for("document.documentElement.dataset.charts", 240)
    good, charts = page.evaluate("document.documentElement.dataset.charts").split("/")
    check(f"{name}: {good} of {charts} charts are drawn", good == charts)
    check(f"{name}: no table can be sorted", page.evaluate("document.querySelectorAll('.sort').length") > 0)
    cells = "Array.from(document.querySelector('.sort').closest('table').querySelectorAll('tbody tr')).map(function (row) { return row.textContent; }).join()"
    before = page.evaluate(cells)
    for _ in "up", "down":
        page.evaluate("(function () { var all = document.querySelector('.sort').closest('tr').querySelectorAll('.sort'); all[all.length - 1].click(); })()")
    check(f"{name}: a sorted table stays as it was", page.evaluate(cells) != before)
    follows_theme(page, name)
    fits_windows(page, name)


def main(words):
    if not find_browser():
        print("skipped: no Chromium (install the package chromium)")
        return 77
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        shardsim, shared = os.path.realpath(words[0]), shared_pages(words, folder)
        os.chdir(words[1])
        os.environ["SHARDSIM_DATA"] = os.getcwd()

        def made(command, scenario, *more, to):
            subprocess.run([shardsim, command, scenario, *more, "-q", "-o", f"{folder}/{to}"], check=True, stdout=subprocess.DEVNULL)

        look_at_sweep(browser, f"{shared}/sweep/report.html")
        made("sweep", "scenarios/sweep_nics_batch.yaml", to="nics")
        look_at_unpriced_sweep(browser, f"{folder}/nics/report.html")
        for page in ("sweep/report.html", "compare.html", "run/report.html"):
            look_at_paper(browser, f"{shared}/{page}", page)
        made("sweep", "scenarios/sweep_planners.yaml", "--set", "cluster.gpu.hbm=10 GiB", "--set", "cluster.gpu.reserved=0 GiB", to="full")
        look_at_full_sweep(browser, f"{folder}/full/report.html")
        look_at_waiting(browser, f"{shared}/sweep/report.html")
        look_at_drift(browser, f"{shared}/drift/drift.html")
        look_at_narrow_tables(browser, f"{shared}/drift/drift.html", "drift")
        made("run", "scenarios/flexshard.yaml", "--case", "rm3/*", "--case", "rm4/*", "--planners", "row_wise,flexshard_3tier", to="planners")
        look_at_planners(browser, f"{folder}/planners/report.html")
        made("run", "scenarios/sixty_tables.yaml", "--planners", "row_wise,table_wise,greedy,flexshard_2tier,data_parallel", to="many_planners")
        look_at_narrow_planners(browser, f"{folder}/many_planners/report.html")
        look_at_paper(browser, f"{folder}/many_planners/report.html", "planners")
        look_at_run(browser, f"{shared}/run/report.html")
        look_at_narrow(browser, f"{shared}/run/report.html")
        look_at_turned(browser, f"{shared}/run/report.html")
        look_at_narrow_answers(browser, f"{shared}/compare.html", "Iteration, classes", ["per iteration", "difference %"])
        look_at_narrow_answers(browser, f"{shared}/drift/drift.html", "Days", ["day", "kept ms", "chance %", "regret %"])
        look_at_narrow_answers(browser, f"{shared}/sweep/report.html", "Points", ["planner", "nodes", "batch_per_gpu", "samples/s"])
        look_at_narrow_answers(browser, f"{shared}/run/report.html", "Plans", ["case", "ms", "1st faster %"])
        look_at_tables(browser, f"{shared}/compare.html", "compare")
    print(f"{len(failures)} of the pages' rules are broken")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
