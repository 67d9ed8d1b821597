"""Draws those figures of the papers that are curves or bars, from rows of docs/papers.md and docs/papers/*.csv, as SVG beside the latter; scripts/papers.py calls it."""

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


def frame(title, y_axis, y_name):
    """The begin of an SVG: title, horizontal lines and the name of the vertical axis."""
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
             f'aria-label="{title}" font-family="sans-serif" font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
             text(LEFT, 20, title, "start", ' font-weight="bold"')]
    for tick in y_axis.ticks():
        y = y_axis.at(tick)
        parts += [f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>', text(LEFT - 6, y + 4, tick_text(tick), "end")]
    return parts, text(16, (TOP + HEIGHT - BOTTOM) / 2, y_name, "middle", f' transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2:.1f})"')


def chart(title, x_name, y_name, series, logarithmic):
    """An SVG of lines; series: [(name, [(x, y)])]."""
    points = [point for _, line in series for point in line]
    x_axis = Axis([x for x, _ in points], LEFT, WIDTH - RIGHT, logarithmic)
    y_axis = Axis([y for _, y in points], HEIGHT - BOTTOM, TOP, False, 0.08)
    parts, y_words = frame(title, y_axis, y_name)
    for tick in x_axis.ticks():
        parts.append(text(x_axis.at(tick), HEIGHT - BOTTOM + 18, tick_text(tick)))
    parts += [text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_name), y_words]
    for number, (name, line) in enumerate(series):
        places = [f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in line]
        colour, dash = COLOURS[number], DASHES[number]
        parts.append(f'<polyline points="{" ".join(places)}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash or "none"}"/>')
        parts += [f'<circle cx="{place.split(",")[0]}" cy="{place.split(",")[1]}" r="3" fill="{colour}"/>' for place in places]
        y = TOP + 14 + 18 * number
        parts += [f'<line x1="{WIDTH - RIGHT + 10}" y1="{y}" x2="{WIDTH - RIGHT + 36}" y2="{y}" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash or "none"}"/>',
                  text(WIDTH - RIGHT + 42, y + 4, name, "start")]
    return "\n".join(parts + ["</svg>"]) + "\n"


def bars(title, x_name, y_name, groups, series):
    """An SVG of bars from 0, beside each other in each group; series: [(name, [(value, least, most)])], None: no bar. A line goes from least to most."""
    y_axis = Axis([0.0] + [bar[2] for _, line in series for bar in line if bar], HEIGHT - BOTTOM, TOP, False)
    parts, y_words = frame(title, y_axis, y_name)
    room = (WIDTH - RIGHT - LEFT) / len(groups)
    wide = 0.8 * room / len(series)
    for at, group in enumerate(groups):
        parts.append(text(LEFT + room * (at + 0.5), HEIGHT - BOTTOM + 18, group))
    for number, (name, line) in enumerate(series):
        colour = COLOURS[number]
        for at, bar in enumerate(line):
            if bar is None:
                continue
            left, (y, least, most) = LEFT + room * (at + 0.1) + wide * number, (y_axis.at(value) for value in bar)
            parts += [f'<rect x="{left:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{HEIGHT - BOTTOM - y:.1f}" fill="{colour}"/>',
                      f'<line x1="{left + wide / 2:.1f}" y1="{least:.1f}" x2="{left + wide / 2:.1f}" y2="{most:.1f}" stroke="#000" stroke-width="2"/>']
        y = TOP + 14 + 18 * number
        parts += [f'<rect x="{WIDTH - RIGHT + 10}" y="{y - 6}" width="12" height="12" fill="{colour}"/>', text(WIDTH - RIGHT + 28, y + 4, name, "start")]
    return "\n".join(parts + [text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_name), y_words, "</svg>"]) + "\n"


def starting(rows, words):
    return next(row for row in rows if row["what"].startswith(words))


MODELS = ("RM-1", "RM-2", "RM-3", "RM-4")


def plain(cell):
    return [(value, value, value) for value in lead_numbers(cell)]


def banded(cell, rows):
    """The values of a cell, with the least and the most of the band's rows, which are those of the models."""
    return [(value, min(value, float(row["least"])), max(value, float(row["most"]))) for value, row in zip(lead_numbers(cell), rows)]


def flexshard_charts(rows, band):
    """Figures 1, 6 and 7, and the band of Table 6; `band`: rows of flexshard_band.csv."""
    memory, sent, pooled = (starting(rows, "Figure 1, " + words) for words in ("memory of a history", "what it sends", "memory of one pooled"))
    items = listed(memory["what"], "history of", "items")
    series = [("published", list(zip(items, lead_numbers(memory["published"])))), ("here", list(zip(items, lead_numbers(memory["ours"])))),
              ("sent, here", list(zip(items, lead_numbers(sent["ours"])))), ("a pooled table", [(at, float(pooled["ours"])) for at in (items[0], items[-1])])]
    yield "flexshard_figure1.svg", chart("FlexShard, Figure 1: a history of vectors", "items of the history", "GB a GPU", series, False)
    series6, series7 = [], []
    for tiers in ("2 tiers", "3 tiers"):
        observed, planned = starting(rows, f'Table 6, "Reduction %" and Figure 6 observed, {tiers}'), starting(rows, f"Figure 6, predicted by the planner, {tiers}")
        series6 += [(f"published, {tiers}", plain(observed["published"])), (f"here, {tiers}", plain(planned["ours"]))]
        gain = starting(rows, f"Figure 7, gain of communication latency, {tiers}")
        others = [row for row in band if f", {tiers}, gain of latency" in row["what"]]
        series7 += [(f"published, {tiers}", plain(gain["published"])), (f"here, {tiers}", banded(gain["ours"], others))]
    yield "flexshard_figure6.svg", bars("FlexShard, Figure 6: what is not sent", "", "% of the elements row-wise", MODELS, series6)
    yield "flexshard_figure7.svg", bars("FlexShard, Figure 7: gain of latency, and its band", "", "row-wise, plan = 1", MODELS, series7)
    yield "flexshard_table6.svg", band_chart(band)


def band_chart(band):
    """Times of Table 6 over the published ones: with the fitted knots, and with other laws."""
    groups = [f"{model}, {tiers}" for tiers in ("2", "3") for model in MODELS]
    by_name = {row["what"]: row for row in band}
    series = []
    for column, name in (("global_all_to_all", "all-to-all"), ("intra_node_all_to_all", "same, in a node"), ("global_all_reduce", "all-reduce"),
                         ("cross_node_all_reduce", "same, across nodes")):
        line = []
        for group in groups:
            row = by_name.get(f"{group} tiers, {column} ms")
            ratios = row and [float(row[key]) / float(row["published"]) for key in ("fitted", "least", "most")]
            line.append(row and (ratios[0], min(ratios), max(ratios)))
        series.append((name, line))
    return bars("FlexShard, Table 6: times and their band", "RM-1 to RM-4 / tiers of the plan", "ours / published", [group.replace("RM-", "").replace(", ", "/") for group in groups], series)


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
    yield "autoshard_figure11.svg", larger_tasks_chart(starting(rows, "Figure 11, "))
    yield "autoshard_figure10.svg", chart("AutoShard, Figure 10: balance by unseen tables", "unseen tables of a task, %", "balance %", series, False)


def larger_tasks_chart(row):
    """Figure 11: balance and time over that of greedy by cost."""
    tables = listed(row["what"], "the same policy on", "tables")
    balances, times = ([float(part) for part in half.split(", ")] for half in row["ours"].split("; "))
    series = [("balance", list(zip(tables, balances))), ("time / greedy", list(zip(tables, (100 * time for time in times))))]
    return chart("AutoShard, Figure 11: more tables, more GPUs", "tables, ten for each GPU", "% of even shards, of greedy by cost", series, True)


def searches_chart(rows, number, gpus):
    """Tables 3 and 7: what the search without a part of it takes, solves and finds in its cache."""
    groups, series = ("full", "without the beam", "without the grid", "without the cache"), []
    found = [starting(rows, f"Table {number}, {gpus} GPUs, {group}:") for group in groups]
    for side, name in (("published", "paper"), ("ours", "here")):
        cells = [[None if part == "-" else float(part) for part in row[side].split(", ")] for row in found]
        for at, what, scale in ((0, "time", 100), (2, "cache hits", 1)):
            series.append((f"{what}, {name}", [None if cell[at] is None else (scale * cell[at],) * 3 for cell in cells]))
    series.sort(key=lambda entry: entry[0].startswith("cache"))
    return bars(f"NeuroShard, Table {number}: parts of the search, {gpus} GPUs", "", "% (time: full = 100)", ("full", "no beam", "no grid", "no cache"), series)


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
    for number, gpus in ((3, 4), (7, 8)):
        yield f"neuroshard_table{number}.svg", searches_chart(rows, number, gpus)
    labels = listed(starting(rows, "Figure 8, mean square")["what"], "learned from", "shards")
    plans = lead_numbers(starting(rows, "Figure 8, iterations")["ours"])
    yield "neuroshard_figure8.svg", chart("NeuroShard, Figure 8: plans by labels", "labelled shards", "iteration, closed form = 1", [("learned costs", list(zip(labels, plans)))], True)
    series = []
    for letter, name in (("N", "candidates"), ("K", "beam"), ("L", "rounds"), ("M", "grid")):
        row = starting(rows, f"Figure 9, {letter} =")
        every = 1 if letter == "M" else 11  # bounds of the grid that each list is tried with: of M the passes are given
        work = [every * float(part.replace(",", "")) for part in row["ours"].split("; ")[1].split(", ")]
        series.append((f"{letter}, {name}", list(zip(work, lead_numbers(row["ours"])))))
    yield "neuroshard_figure9.svg", chart("NeuroShard, Figure 9: plans by passes of the search", "passes: lists x bounds", "iteration, defaults = 1", series, True)
