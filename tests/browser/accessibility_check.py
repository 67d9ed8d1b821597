#!/usr/bin/env python3
"""Looks at pages as the serious rules of axe-core (Deque, version 4) do, which Debian does not have: language and title,
landmarks, headings, names of fields, buttons, links and pictures, contrast of text in both themes, header cells of
tables, charts with a table, focus that is seen, and the order of the keyboard. A page that breaks nothing prints how
much was looked at. Exit 77 (skipped) without Chromium.
Where AXE_CORE names a file axe.min.js (npm's package axe-core), axe-core itself looks at each page too, in both themes.
    accessibility_check.py PAGE.html|URL...
    accessibility_check.py SHARDSIM SOURCE_DIR [PAGES]     (makes a page of each kind first; PAGES: of shared_pages.py)"""
import os
import signal
import subprocess
import sys
import tempfile

from devtools import Browser, find_browser
from shared_pages import shared_pages

# What is seen and read: neither hidden nor in a closed <details>.
SHOWN = """
function shown(element) {
  if (!element.checkVisibility || !element.checkVisibility({checkOpacity: false, checkVisibilityCSS: true})) return false;
  return !element.closest("[aria-hidden=true]");
}
function told(element) {
  var text = element.id ? "#" + element.id : element.className && element.className.baseVal === undefined ? "." + element.className : "";
  return element.tagName.toLowerCase() + text + " '" + (element.textContent || "").trim().slice(0, 40) + "'";
}
function nameOf(element) {
  var by = element.getAttribute("aria-labelledby");
  if (by) return by.split(/\\s+/).map(function (id) { var e = document.getElementById(id); return e ? e.textContent : ""; }).join(" ").trim();
  var label = element.getAttribute("aria-label");
  if (label && label.trim()) return label.trim();
  if (element.labels && element.labels.length) return Array.from(element.labels).map(function (e) { return e.textContent; }).join(" ").trim();
  if (element.tagName === "INPUT" || element.tagName === "SELECT" || element.tagName === "TEXTAREA") return (element.title || "").trim();
  return (element.textContent || element.title || "").trim();
}
"""

# Each rule as axe-core names it, with what a page must have; a rule gives what breaks it.
RULES = {
    "html-has-lang": "return document.documentElement.lang ? [] : ['no lang'];",
    "document-title": "return document.title.trim() ? [] : ['no title'];",
    "meta-viewport": """var meta = document.querySelector('meta[name=viewport]');
        return meta && /user-scalable\\s*=\\s*no|maximum-scale/.test(meta.content) ? [meta.content] : meta ? [] : ['none'];""",
    "duplicate-id": """var seen = {}; return Array.from(document.querySelectorAll('[id]')).filter(function (e) {
        var again = seen[e.id]; seen[e.id] = true; return again; }).map(told);""",
    "landmark-one-main": "var n = document.querySelectorAll('main, [role=main]').length; return n === 1 ? [] : [n + ' of them'];",
    "landmark-unique": """var names = {}; return Array.from(document.querySelectorAll('nav, aside, form[aria-label], section[aria-label], section[aria-labelledby]'))
        .filter(function (e) { var key = e.tagName + nameOf(e); var again = names[key]; names[key] = true; return again; }).map(told);""",
    # Text outside of all landmarks is not found by who goes from landmark to landmark.
    "region": """var walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
        for (var node; (node = walker.nextNode());) {
          var at = node.parentElement;
          if (!node.textContent.trim() || /^(SCRIPT|STYLE|NOSCRIPT)$/.test(at.tagName) || !shown(at)) continue;
          if (!at.closest('main, header, nav, aside, footer, form[aria-label], [role=alert], [role=status], [role=main]')) found.push(told(at));
        } return found;""",
    "page-has-heading-one": "var n = Array.from(document.querySelectorAll('h1')).filter(shown).length; return n === 1 ? [] : [n + ' of them'];",
    "heading-order": """var last = 0; return Array.from(document.querySelectorAll('h1, h2, h3, h4, h5, h6')).filter(shown).filter(function (e) {
        var level = Number(e.tagName[1]), jump = level > last + 1; last = level; return jump; }).map(told);""",
    "empty-heading": "return Array.from(document.querySelectorAll('h1, h2, h3, h4')).filter(function (e) { return shown(e) && !e.textContent.trim(); }).map(told);",
    "label": """return Array.from(document.querySelectorAll('input:not([type=hidden]), select, textarea')).filter(function (e) {
        return shown(e) && !nameOf(e); }).map(told);""",
    "button-name": "return Array.from(document.querySelectorAll('button, summary, [role=button]')).filter(function (e) { return shown(e) && !nameOf(e); }).map(told);",
    "link-name": "return Array.from(document.querySelectorAll('a[href]')).filter(function (e) { return shown(e) && !nameOf(e); }).map(told);",
    "image-alt": "return Array.from(document.querySelectorAll('img')).filter(function (e) { return shown(e) && !e.hasAttribute('alt'); }).map(told);",
    "svg-img-alt": """return Array.from(document.querySelectorAll('.chart svg, .own-chart canvas')).filter(shown).filter(function (e) {
        var at = e.closest('[role=img], [role=application], [role=group], figure') || e;
        return !(at.getAttribute('role') && nameOf(at).length > 3 && (at.getAttribute('aria-label') || at.getAttribute('aria-labelledby'))); }).map(told);""",
    # Beside the name, each chart's numbers stand as a table.
    "chart-has-table": """return Array.from(document.querySelectorAll('.chart, .own-chart')).filter(function (e) {
        var at = e.closest('section, figure, details, .figure') || e.parentElement; return !at.querySelector('table') &&
        !e.closest('.grid, section').querySelector('table'); }).map(function (e) { return e.id; });""",
    "tabindex": "return Array.from(document.querySelectorAll('[tabindex]')).filter(function (e) { return e.tabIndex > 0; }).map(told);",
    "aria-hidden-focus": """return Array.from(document.querySelectorAll('[aria-hidden=true] a, [aria-hidden=true] button, [aria-hidden=true] input, [aria-hidden=true] [tabindex]'))
        .map(told);""",
    "nested-interactive": "return Array.from(document.querySelectorAll('button button, button a, a button, a a, summary button, summary a, summary input, [role=img] button')).map(told);",
    "aria-valid-role": """var known = 'alert application button checkbox dialog figure graphics-document graphics-object graphics-symbol group img list listitem log main navigation none note presentation region row rowgroup search status table tooltip'.split(' ');
        return Array.from(document.querySelectorAll('[role]')).filter(function (e) { return known.indexOf(e.getAttribute('role')) < 0; }).map(told);""",
    "td-has-header": """return Array.from(document.querySelectorAll('table')).filter(function (t) {
        return t.rows.length && !t.querySelector('th'); }).map(told);""",
    "scope": """return Array.from(document.querySelectorAll('th')).filter(function (e) {
        return ['col', 'row', 'colgroup', 'rowgroup'].indexOf(e.getAttribute('scope')) < 0; }).map(told);""",
    "empty-table-header": "return Array.from(document.querySelectorAll('th')).filter(function (e) { return shown(e) && !e.textContent.trim() && !e.getAttribute('aria-label'); }).map(told);",
    "scrollable-region-focusable": """return Array.from(document.querySelectorAll('*')).filter(function (e) {
        if (e === document.documentElement || e === document.body || !shown(e)) return false;
        var style = getComputedStyle(e), over = (e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(style.overflowX)) ||
            (e.scrollHeight > e.clientHeight + 1 && /auto|scroll/.test(style.overflowY));
        if (!over || e.tagName === 'TEXTAREA' || e.tagName === 'SELECT' || e.tagName === 'INPUT') return false;
        return e.tabIndex < 0 && !e.querySelector('a[href], button, input, select, textarea, summary, [tabindex="0"]'); }).map(told);""",
}

# The contrast of each text with the colour that is painted below it; text of a picture lies on its chart's paper, or on
# the bar that was drawn there before it.
COLOURS = """
function channels(text) { var m = text.match(/[\\d.]+/g).map(Number); return m.length === 3 ? m.concat(1) : m; }
function over(top, below) { return [0, 1, 2].map(function (i) { return top[i] * top[3] + below[i] * (1 - top[3]); }).concat(1); }
function luminance(c) {
  var parts = c.slice(0, 3).map(function (v) { v /= 255; return v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); });
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}
function paper(element) {
  var layers = [];
  for (var at = element; at; at = at.parentElement) {
    var colour = channels(getComputedStyle(at).backgroundColor);
    if (colour[3] > 0) { layers.push(colour); if (colour[3] === 1) break; }
  }
  var scheme = matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
  return layers.reverse().reduce(function (below, top) { return over(top, below); }, scheme);
}
function below_in_picture(text, picture, ground) {
  var box = text.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
  Array.from(picture.querySelectorAll('.mark-rect path')).forEach(function (mark) {
    var style = getComputedStyle(mark), at = mark.getBoundingClientRect();
    if (style.fill === 'none' || at.width * at.height < 1 || x < at.left || x > at.right || y < at.top || y > at.bottom) return;
    if (!(mark.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) return;
    var fill = channels(style.fill);
    ground = over([fill[0], fill[1], fill[2], fill[3] * Number(style.fillOpacity) * opacity(mark)], ground);
  });
  return ground;
}
function opacity(element) { var all = 1; for (var at = element; at; at = at.parentElement) all *= Number(getComputedStyle(at).opacity); return all; }
"""
CONTRAST = """
var walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), seen = {}, found = [], looked = 0;
for (var node; (node = walker.nextNode());) {
  var at = node.parentElement;
  if (!node.textContent.trim() || /^(SCRIPT|STYLE|NOSCRIPT|OPTION|TITLE)$/.test(at.tagName) || !shown(at)) continue;
  if (at.closest(':disabled, [aria-disabled=true]')) continue;
  var style = getComputedStyle(at), picture = at.closest('svg');
  var ink = channels(picture ? (style.fill === 'none' ? 'rgba(0, 0, 0, 0)' : style.fill) : style.color);
  var below = paper(picture ? picture.parentElement : at);
  if (ink[3] === 0 || opacity(at) === 0) continue;  // Vega hides labels that would overlap so
  if (picture) below = below_in_picture(at, picture, below);
  var shade = over([ink[0], ink[1], ink[2], ink[3] * opacity(at)], below);
  var a = luminance(shade), b = luminance(below), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  var size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
  var least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
  looked += 1;
  if (ratio >= least - 0.005) continue;
  var key = ink + '/' + below;
  if (!seen[key]) found.push(told(at) + ' ' + ratio.toFixed(2) + ' (' + shade.slice(0, 3).map(Math.round) + ' on ' + below.slice(0, 3).map(Math.round) + ')');
  seen[key] = true;
}
return {looked: looked, found: found};
"""

# Charts stand on the page: what is painted at their corner is hardly lighter than the page, and hardly darker.
CHART_PAPER = """
var found = [], looked = 0;
document.querySelectorAll('.chart svg, .own-chart canvas').forEach(function (picture) {
  if (!shown(picture)) return;
  var ground = paper(document.body), below = paper(picture);
  if (picture.tagName === 'CANVAS') {
    if (!picture.width || !picture.height) return;
    var dot = picture.getContext('2d').getImageData(picture.width - 1, 0, 1, 1).data;
    below = over([dot[0], dot[1], dot[2], dot[3] / 255], below);
  } else Array.from(picture.querySelectorAll(':scope > rect, .background')).forEach(function (mark) {
    var style = getComputedStyle(mark), fill = style.fill === 'none' ? null : channels(style.fill);
    if (fill) below = over([fill[0], fill[1], fill[2], fill[3] * Number(style.fillOpacity) * opacity(mark)], below);
  });
  looked += 1;
  var a = luminance(ground), b = luminance(below);
  if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) > 1.15)
    found.push(told(picture.closest('.chart, .own-chart')) + ' has ' + below.slice(0, 3).map(Math.round) + ' on ' + ground.slice(0, 3).map(Math.round));
});
return {looked: looked, found: found};
"""

# Where the focus is, and how it is seen: an outline, or a border or shade that it does not have otherwise.
FOCUS = """
var at = document.activeElement;
if (!at || at === document.body) return null;
var style = getComputedStyle(at), box = at.getBoundingClientRect();
return {told: told(at), order: Array.from(document.querySelectorAll('*')).indexOf(at), tall: box.height, wide: box.width,
        seen: (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== 'none'};
"""

SCROLL_THROUGH = """(async function () {
  for (var y = 0; y < document.documentElement.scrollHeight; y += 500) {
    window.scrollTo(0, y);
    await new Promise(function (done) { requestAnimationFrame(function () { setTimeout(done, 0); }); });
  }
  window.scrollTo(0, 0);
})()"""


def in_page(page, body):
    return page.evaluate(f"(function () {{ {SHOWN} {COLOURS} {body} }})()")


def broken_rules(page):
    return [f"{rule}: {what}" for rule, body in RULES.items() for what in in_page(page, body)[:5]]


def broken_focus(page, most=60):
    """Goes through the page by Tab: each stop is seen, and stops come in the order of the page."""
    broken, last, stops = [], -1, 0
    page.evaluate("document.body.focus(); window.scrollTo(0, 0)")
    for press in range(most):
        page.press("Tab")
        at = in_page(page, FOCUS)
        if at is None and press < 2:
            continue  # Tab goes on from where the page was touched last, which may be its end
        if at is None or at["order"] < last:
            break  # at the end, or round to the begin again
        stops += 1
        if not at["seen"]:
            broken.append(f"focus-visible: {at['told']}")
        if at["tall"] < 1 or at["wide"] < 1:
            broken.append(f"focus on nothing: {at['told']}")
        last = at["order"]
    return broken[:5], stops


PAINTED = "new Promise(function (done) { requestAnimationFrame(function () { requestAnimationFrame(done); }); })"
AXE = """axe.run(document, {resultTypes: ['violations']}).then(function (all) { return all.violations.map(function (each) {
  return each.id + ' (' + each.impact + '): ' + each.nodes.length + ' times, first ' + each.nodes[0].html.slice(0, 100) + ' ' + each.nodes[0].failureSummary; }); })"""


def broken_for_axe(page):
    """What axe-core itself finds, where its file is there."""
    file = os.environ.get("AXE_CORE")
    if not file:
        return []
    with open(file, encoding="utf-8") as script:
        page.evaluate(script.read() + "; null")
    found = []
    for dark in (False, True):
        page.size(1366, 900, dark)
        page.evaluate(PAINTED)  # axe-core reads colours, which change with the next picture
        found += [f"axe-core, {'dark' if dark else 'light'}: {what}" for what in page.evaluate(AXE)]
    page.size(1366, 900)
    return found


def broken_colours(page, when):
    """Of the theme that has just been chosen: charts that are drawn take it with the next picture."""
    page.evaluate(PAINTED)
    return [f"{rule} ({when}): {what}" for rule, body in (("color-contrast", CONTRAST), ("chart-paper", CHART_PAPER))
            for what in in_page(page, body)["found"][:8]]


def check(browser, url):
    page = browser.page(url)
    page.wait_for("document.readyState === 'complete'")
    page.wait_for("document.getElementById('knobs') ? document.documentElement.dataset.answers > 0 : "
                  "document.documentElement.dataset.charts || !document.querySelector('script[data-chart]')")
    broken = []
    for dark in (False, True):
        page.size(1366, 900, dark)
        broken += broken_colours(page, "dark" if dark else "light")
    page.evaluate("document.querySelectorAll('details').forEach(function (e) { e.open = true; })")
    page.wait_for("!document.querySelector('.chart.waiting')")
    for dark in (True, False):
        page.size(1366, 900, dark)
        broken += broken_colours(page, f"{'dark' if dark else 'light'}, all open")
    broken += broken_rules(page)
    broken += broken_for_axe(page)
    looked = sum(in_page(page, each)["looked"] for each in (CONTRAST, CHART_PAPER))
    page.size(360, 640)
    page.evaluate(SCROLL_THROUGH)  # what was not seen yet is not laid out yet
    broken += [f"{what} at 360 px" for what in in_page(page, f"return (function () {{ {RULES['scrollable-region-focusable']} }})();")]
    page.size(1366, 900)
    page.evaluate("document.querySelectorAll('details').forEach(function (e) { e.open = false; })")
    page.evaluate(PAINTED)  # tables of a narrow window take their columns back with the next picture
    focus, stops = broken_focus(page)
    if not stops:
        focus.append("nothing can be reached by Tab")
    print(f"{url.rsplit('/', 2)[-2:]}: {len(RULES) + 2} rules, {looked} texts and charts in two themes, {stops} stops of Tab, {len(broken + focus)} broken")
    return broken + focus


def url_of(word):
    return word if word.startswith("http") else "file://" + os.path.realpath(word)


def made_pages(shardsim, folder, shared):
    """A page of each kind that the program writes; `shared` are those of shared_pages.py."""
    def made(command, scenario, *words):
        subprocess.run([shardsim, command, scenario, *words, "-q"], check=True, stdout=subprocess.DEVNULL)

    study, toy = "scenarios/flexshard.yaml", "scenarios/toy.yaml"
    made("run", study, "-o", f"{folder}/study")
    made("run", toy, "--planners", "row_wise,flexshard_2tier,torchrec", "-o", f"{folder}/planners")
    trace = "scenarios/measurements/traces/sampled_rank0.json.gz"
    for words in (["why", toy, "--case", "row_wise", "-o", f"{folder}/why"], ["why", "--trace", trace, "-o", f"{folder}/step"],
                  ["collective", "compare", "--measurements", "scenarios/measurements/open", "-o", f"{folder}/collectives"],
                  ["compute", "compare", "--measurements", "scenarios/measurements/kernels", "-o", f"{folder}/kernels"]):
        subprocess.run([shardsim, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [f"{folder}/study/report.html", f"{shared}/run/report.html", f"{folder}/planners/report.html",
            f"{shared}/sweep/report.html", f"{shared}/drift/drift.html", f"{shared}/compare.html",
            f"{folder}/why/why.html", f"{folder}/step/why.html", f"{folder}/collectives/report.html", f"{folder}/kernels/report.html"]


def main(words):
    if not find_browser():
        print("skipped: no Chromium (install the package chromium)")
        return 77
    server, broken = None, []
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        if len(words) in (2, 3) and os.path.isdir(words[1]):
            shardsim, shared = os.path.realpath(words[0]), shared_pages(words, folder)
            os.chdir(words[1])
            os.environ["SHARDSIM_DATA"] = os.getcwd()
            words = made_pages(shardsim, folder, shared)
            server = subprocess.Popen([shardsim, "explore", "scenarios/toy.yaml", "--no-open"], stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True)
            words.append(server.stdout.readline().strip())
        try:
            for word in words:
                found = check(browser, url_of(word))
                print("".join(f"   {what}\n" for what in found), end="")
                broken += found
        finally:
            if server:
                server.send_signal(signal.SIGINT)
                server.wait(timeout=60)
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
