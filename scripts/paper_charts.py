"""Draws those figures of the papers that are curves, from docs/papers/*.csv, as SVG beside them; scripts/papers.py calls it."""

import math
import re

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 320, 62, 150, 36, 52
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
DASHES = ("", "7 4", "2 3", "9 3 2 3")


def lead_numbers(text):
    """The numbers of a cell in front of a semicolon."""
    return [float(part.replace(",", "")) for part in text.split(";")[0].split(", ")]


def listed(text, before, after):
    """The numbers that a name lists between two words: "after 10, 500, 2,500 samples"."""
    found = re.search(re.escape(before) + r" ([0-9, ]+)" + re.escape(after), text)
    return [float(part.replace(",", "")) for part in found.group(1).strip().rstrip(",").split(", ")]


class Axis:
    def __init__(self, values, begin, end, logarithmic, margin=0.0):
        self.logarithmic, self.begin, self.end = logarithmic, begin, end
        self.values = sorted(set(values))
        low, high = self.scaled(self.values[0]), self.scaled(self.values[-1])
        pad = (high - low) * margin
        self.low, self.high = low - pad, high + pad

    def scaled(self, value):
        return math.log10(value) if self.logarithmic else value

    def at(self, value):
        return self.begin + (self.scaled(value) - self.low) / (self.high - self.low) * (self.end - self.begin)

    def ticks(self):
        if self.logarithmic:
            parts = (1,) if self.high - self.low > 2 else (1, 2, 5)
            every = [part * 10.0 ** power for power in range(math.floor(self.low), math.floor(self.high) + 1) for part in parts]
            return [value for value in every if self.low - 1e-9 <= math.log10(value) <= self.high + 1e-9]
        step = 10 ** math.floor(math.log10(self.high - self.low))
        step = next(step * part for part in (0.1, 0.2, 0.5, 1, 2) if (self.high - self.low) / (step * part) <= 6)
        return [number * step for number in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)]


def tick_text(value):
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 else f"{value:.4g}"


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{words}</text>'


def chart(title, x_name, y_name, series, logarithmic):
    """An SVG of lines; series: [(name, [(x, y)])]."""
    points = [point for _, line in series for point in line]
    x_axis = Axis([x for x, _ in points], LEFT, WIDTH - RIGHT, logarithmic)
    y_axis = Axis([y for _, y in points], HEIGHT - BOTTOM, TOP, False, 0.08)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
             f'aria-label="{title}" font-family="sans-serif" font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
             text(LEFT, 20, title, "start", ' font-weight="bold"')]
    for tick in y_axis.ticks():
        y = y_axis.at(tick)
        parts += [f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>', text(LEFT - 6, y + 4, tick_text(tick), "end")]
    for tick in x_axis.ticks():
        parts.append(text(x_axis.at(tick), HEIGHT - BOTTOM + 18, tick_text(tick)))
    parts += [text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_name),
              text(16, (TOP + HEIGHT - BOTTOM) / 2, y_name, "middle", f' transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2:.1f})"')]
    for number, (name, line) in enumerate(series):
        places = [f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in line]
        colour, dash = COLOURS[number], DASHES[number]
        parts.append(f'<polyline points="{" ".join(places)}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash or "none"}"/>')
        parts += [f'<circle cx="{place.split(",")[0]}" cy="{place.split(",")[1]}" r="3" fill="{colour}"/>' for place in places]
        y = TOP + 14 + 18 * number
        parts += [f'<line x1="{WIDTH - RIGHT + 10}" y1="{y}" x2="{WIDTH - RIGHT + 36}" y2="{y}" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash or "none"}"/>',
                  text(WIDTH - RIGHT + 42, y + 4, name, "start")]
    return "\n".join(parts + ["</svg>"]) + "\n"


def starting(rows, words):
    return next(row for row in rows if row["what"].startswith(words))


def autoshard_charts(rows):
    slow, fast, greedy, search = (starting(rows, "Figure 9, " + words) for words in ("balance % of policies", "three times the rate", "balance % of greedy", "random search"))
    samples = listed(slow["what"], "trained on", "samples")
    series = [("policy", list(zip(samples, lead_numbers(slow["ours"])))),
              ("policy, rate x 3", list(zip(listed(fast["what"], "after", "samples"), lead_numbers(fast["ours"])))),
              ("greedy, its costs", list(zip(samples, lead_numbers(greedy["ours"])))),
              ("random search", list(zip(listed(search["what"], "best of", "plans"), lead_numbers(search["ours"]))))]
    yield "autoshard_figure9.svg", chart("AutoShard, Figure 9: balance by samples", "samples of shards, or plans", "balance %", series, True)
    unseen = starting(rows, "Figure 10, balance %")
    series = [("policy", list(zip(listed(unseen["what"], "with", "% unseen"), lead_numbers(unseen["ours"])))),
              ("paper, at least", [(0, 80), (80, 80), (100, 70)])]  # the text of section 5: the curve has no printed values
    yield "autoshard_figure10.svg", chart("AutoShard, Figure 10: balance by unseen tables", "unseen tables of a task, %", "balance %", series, False)


def half_and_widest_charts(rows):
    """Figures 3 and 4."""
    series = [(name, list(zip(listed(row["what"], "half of", "columns"), lead_numbers(row["ours"]))))
              for name, row in (("closed form", starting(rows, "Figure 3, half")), ("measured, H100", starting(rows, "Figure 3 on an H100, half")))]
    yield "neuroshard_figure3.svg", chart("NeuroShard, Figure 3: half of a table's columns", "columns of the table", "time, all columns = 1",
                                          [*series, ("in proportion", [(8, 0.5), (128, 0.5)])], True)
    row = starting(rows, "Figure 4, exchanges whose")
    series = [("closed form", list(zip(listed(row["what"], "GPU has", "columns"), lead_numbers(row["ours"]))))]
    yield "neuroshard_figure4.svg", chart("NeuroShard, Figure 4: exchanges by the widest GPU", "columns of the widest GPU", "mean ms", series, False)


def neuroshard_charts(rows):
    yield from half_and_widest_charts(rows)
    labels = listed(starting(rows, "Figure 8, mean square")["what"], "learned from", "shards")
    plans = lead_numbers(starting(rows, "Figure 8, iterations")["ours"])
    yield "neuroshard_figure8.svg", chart("NeuroShard, Figure 8: plans by labels", "labelled shards", "iteration, closed form = 1", [("learned costs", list(zip(labels, plans)))], True)
    series = []
    for letter, name in (("N", "candidates"), ("K", "beam"), ("L", "rounds")):
        row = starting(rows, f"Figure 9, {letter} =")
        work = [float(part.replace(",", "")) for part in row["ours"].split("; ")[1].split(", ")]
        series.append((f"{letter}, {name}", list(zip(work, lead_numbers(row["ours"])))))
    yield "neuroshard_figure9.svg", chart("NeuroShard, Figure 9: plans by lists searched", "lists searched", "iteration, defaults = 1", series, True)
