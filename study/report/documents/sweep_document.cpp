#include "study/report/documents/sweep_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/document/cells.h"
#include "base/files.h"
#include "base/text.h"
#include "study/report/documents/sweep_charts.h"
#include "study/report/documents/sweep_notes.h"
#include "study/report/page.h"
#include "study/report/wording.h"
#include "study/sweep/axis.h"

namespace shardsim {
namespace {

// The axes' values of a point, one cell for each.
std::vector<std::string> axis_cells(const SweepResult& result, std::size_t point) {
  const std::vector<std::size_t> at = result.sweep->coordinates(point);
  std::vector<std::string> cells;
  for (std::size_t d = 0; d < at.size(); ++d) {
    for (const Axis& axis : result.sweep->dimensions[d].axes) cells.push_back(axis.values[at[d]].text);
  }
  return cells;
}

// The last part of a path, where no other axis ends in it.
std::string short_name(const Sweep& sweep, const std::string& path) {
  const auto last = [](const std::string& text) { return text.substr(text.rfind('.') + 1); };
  int same = 0;
  for (const SweepDimension& dimension : sweep.dimensions) {
    for (const Axis& axis : dimension.axes) same += last(axis.path) == last(path) ? 1 : 0;
  }
  return same > 1 ? path : last(path);
}

std::vector<Sheet::Column> axis_headers(const Sweep& sweep) {
  std::vector<Sheet::Column> headers;
  for (const SweepDimension& dimension : sweep.dimensions) {
    for (const Axis& axis : dimension.axes) {
      headers.push_back({short_name(sweep, axis.path), axis.values.front().amount.has_value()});
    }
  }
  return headers;
}

}  // namespace

std::string named_values(const SweepResult& result, std::size_t point) {
  const std::vector<Sheet::Column> names = axis_headers(*result.sweep);
  std::vector<std::string> texts = axis_cells(result, point);
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = names[i].header + " " + texts[i];
  return join(texts);
}

namespace {

bool has_scaling(const SweepResult& result) {
  return std::ranges::any_of(result.scaling_efficiency, [](const auto& each) { return each.has_value(); });
}

bool has_host_rows(const SweepResult& result) {
  return std::ranges::any_of(result.results, [](const PointResult& each) { return each.host_bytes > 0; });
}

// So many that the shortest of these iterations has four digits.
int decimals_of_ms(const SweepResult& result, const std::vector<std::size_t>& points) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const std::size_t point : points) shortest = std::min(shortest, result.at(point).iteration_ms);
  return decimals_for(shortest);
}

// The column of the figure by which points are sorted.
std::string_view header_of(SweepOrder order) {
  switch (order) {
    case SweepOrder::iteration:
      return "ms";
    case SweepOrder::cost:
      return "cost";
    case SweepOrder::memory:
      return "GiB";
    case SweepOrder::samples:
      break;
  }
  return "samples/s";
}

// A narrow page keeps the values of a point, without which rows look alike, and the figure that they are sorted by.
void rank_columns(Sheet& sheet, std::size_t axes, SweepOrder order) {
  for (std::size_t c = axes; c < sheet.columns.size(); ++c)
    sheet.columns[c].minor = !sheet.columns[c].header.starts_with(header_of(order));
}

Sheet points_sheet(const SweepResult& result, const std::vector<std::size_t>& points, bool page, SweepOrder order) {
  const bool cost = has_cost(result), scaling = has_scaling(result);
  const int places = decimals_of_ms(result, points);
  Sheet sheet{axis_headers(*result.sweep), {}, true};
  const std::size_t axes = sheet.columns.size();
  // A terminal has no room for more than a short header there.
  for (const char* const header : {"GPUs", "ms", page ? "80 % within" : "80 %", "samples/s", "GiB"})
    sheet.columns.push_back({header});
  const std::optional<std::string> currency = result.currency();
  if (cost) sheet.columns.push_back({currency && !currency->empty() ? "cost " + printable(*currency) : "cost"});
  if (scaling) sheet.columns.push_back({"scaling"});
  sheet.columns.push_back({"busiest", false});
  if (page) sheet.columns.push_back({"%"});  // a terminal has no room for it beside the whole name
  if (page) rank_columns(sheet, axes, order);
  for (const std::size_t point : points) {
    const PointResult& here = result.at(point);
    Sheet::Row row{axis_cells(result, point)};
    row.cells.push_back(fmt::format("{}", here.world_size));
    row.cells.push_back(fixed(here.iteration_ms, places));
    row.cells.push_back(here.interval ? interval_cell(*here.interval) : "-");
    row.cells.push_back(with_thousands(static_cast<std::int64_t>(std::llround(here.samples_per_s))));
    row.cells.push_back(fixed(static_cast<double>(here.peak_bytes) / 0x1p30, 2) +
                        (here.runs_out_of_memory() ? " over" : "") + (here.host_bytes > 0 ? " +host" : ""));
    if (cost) {
      const auto price = result.cost_per_million_samples(point);
      const std::string unit = currency ? "" : " " + printable(here.currency);
      row.cells.push_back(price ? fmt::format("{:.3g}{}", *price, unit) : "-");
    }
    if (scaling) {
      const auto& efficiency = result.scaling_efficiency[point];
      row.cells.push_back(efficiency ? fmt::format("{:.1f}", 100 * *efficiency) : "-");
    }
    row.cells.push_back(unit_in_short(here.limited_by));
    if (page) row.cells.push_back(fixed(100 * here.limit_share, 0));
    sheet.rows.push_back(std::move(row));
  }
  return sheet;
}

std::string currency_legend(const SweepResult& result) {
  const std::optional<std::string> currency = result.currency();
  if (!currency) return "; currencies differ, so costs are not compared.";
  return currency->empty() ? ", in the currency of cost_per_gpu_hour." : ".";
}

std::string points_legend(const SweepResult& result, bool page) {
  std::string text = (page ? "80 % within" : "80 %") + std::string(kIntervalLegend) +
                     " GiB: memory of the fullest GPU at its simulated peak.";
  if (std::ranges::any_of(result.results, &PointResult::runs_out_of_memory)) text += " over: more than a GPU has.";
  if (has_host_rows(result)) text += " +host: rows stand in the host memory of its nodes, too (host_gib in sweep.csv).";
  if (has_cost(result)) text += " cost: the price of a million samples" + currency_legend(result);
  if (has_scaling(result)) {
    text +=
        " scaling: samples per second and GPU, in % of those of the smallest world of the same machine with the same "
        "other values.";
  }
  return text +
         " busiest: the link or unit that is busy most of the time (what an iteration waits for, 'shardsim why' says)" +
         (page ? ", and the % of the time that it is." : ".");
}

// Those of most samples per second first, which somebody might choose.
std::string names_of_full(const SweepResult& result, const std::vector<std::size_t>& fastest) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const std::size_t point : fastest) {
    if (!result.at(point).runs_out_of_memory()) continue;
    names.size() < kNamed ? names.push_back(named_values(result, point)) : void(++more);
  }
  return join(names, "; ") + (more > 0 ? fmt::format("; and {} more", more) : "");
}

// Planners and `does_not_fit` go by the memory model, which may count less than an iteration needs.
std::string peak_warning(const SweepResult& result, const std::vector<std::size_t>& fastest) {
  const auto points = static_cast<std::size_t>(std::ranges::count_if(result.results, &PointResult::runs_out_of_memory));
  if (points == 0) return "";
  std::string text = fmt::format(
      " WARNING: {} would need more memory than a GPU has at the simulated peak (peak_gib in sweep.csv), so the run "
      "would end with an out-of-memory error, although the plan fits by the memory model: {}.",
      counted(points, "point"), names_of_full(result, fastest));
  if (!result.at(fastest.front()).runs_out_of_memory()) return text;
  text += " The point with the most samples per second is one of them";
  const auto fits = std::ranges::find_if(fastest, [&](std::size_t p) { return !result.at(p).runs_out_of_memory(); });
  return text + (fits == fastest.end() ? ", and no other point fits."
                                       : fmt::format("; the fastest that fits has {}.", named_values(result, *fits)));
}

// Says what the point that stands first, and that of most samples per second, keep in host memory: their GPUs are too
// few for the model, which no other column of the table shows.
std::string host_warning(const SweepResult& result, const std::vector<std::size_t>& fastest, std::size_t first) {
  std::vector<std::string> texts;
  for (const std::size_t point : std::set<std::size_t>{fastest.front(), first}) {
    if (result.at(point).host_bytes == 0) continue;
    texts.push_back(fmt::format("{} keeps {:.4g} GiB of rows in the host memory of a node", named_values(result, point),
                                static_cast<double>(result.at(point).host_bytes) / 0x1p30));
  }
  return texts.empty() ? "" : fmt::format(" NOT ALL IN GPU MEMORY: {}.", join(texts, "; "));
}

// Without a currency the text says once what the numbers are in.
std::string price_text(const SweepResult& result, double price) {
  const std::string currency = result.currency().value_or("");
  return fmt::format("{:.3g}{}", price, currency.empty() ? "" : " " + printable(currency));
}

std::string samples_text(const SweepResult& result, std::size_t point) {
  return with_thousands(std::llround(result.at(point).samples_per_s)) + " samples per second";
}

// The best point by the figure that points are sorted by: "Most samples per second: 737,339 at nodes 8 (177.8 ms".
// `mean`: " on average ..." where it is that of another point that is told with the best figure.
std::string best_by(const SweepResult& result, std::size_t point, SweepOrder order, std::string_view mean) {
  const PointResult& best = result.at(point);
  const std::string ms = fixed(best.iteration_ms, decimals_for(best.iteration_ms)) + " ms";
  const std::string at = named_values(result, point), samples = samples_text(result, point);
  switch (order) {
    case SweepOrder::iteration:
      return fmt::format("Shortest iteration{}: {} at {} ({}", mean, ms, at, samples);
    case SweepOrder::cost:
      return fmt::format("Least cost of a million samples{}: {} at {} ({}, {}", mean,
                         price_text(result, sorting_figure(result, point, order)), at, samples, ms);
    case SweepOrder::memory:
      return fmt::format("Least memory of the fullest GPU: {} GiB at {} ({}, {}",
                         fixed(static_cast<double>(best.peak_bytes) / 0x1p30, 2), at, samples, ms);
    case SweepOrder::samples:
      break;
  }
  return fmt::format("Most samples per second{}: {} at {} ({}", mean,
                     with_thousands(static_cast<std::int64_t>(std::llround(best.samples_per_s))), at, ms);
}

std::string sweep_summary(const SweepResult& result, const std::vector<std::size_t>& fastest,
                          const std::vector<std::size_t>& sorted, SweepOrder order) {
  const std::size_t lost = result.without_result();
  std::string points = fmt::format("{} point{}", with_thousands(static_cast<std::int64_t>(result.results.size())),
                                   result.results.size() == 1 ? "" : "s");
  if (result.sweep->dimensions.size() > 1) points += " (" + result.sweep->shape() + ")";
  if (result.results.size() < result.sweep->product)
    points += fmt::format(", {} left out by conditions", result.sweep->product - result.results.size());
  if (lost > 0) points += fmt::format(", {} without a result", lost);
  points += ".";
  if (fastest.empty()) return points;
  const std::size_t first = sorted.front();
  const PointResult& best = result.at(first);
  const std::string_view mean = is_first_on_average(result, sorted, order)
                                    ? " on average over the placements of hot rows, of which one is shown"
                                    : "";
  const std::string within = ", " + counted(static_cast<std::size_t>(best.world_size), "GPU") +
                             (best.interval ? ", 80 % within " + interval_cell(*best.interval) : "");
  return fmt::format("{}{}, busiest: {}). {}", best_by(result, first, order, mean), within,
                     unit_in_words(best.limited_by), points) +
         peak_warning(result, fastest) + host_warning(result, fastest, first);
}

// Points of most samples per second first, those that run out of memory left out.
std::vector<std::size_t> those_that_fit(const SweepResult& result, std::vector<std::size_t> fastest) {
  std::erase_if(fastest, [&](std::size_t p) { return result.at(p).runs_out_of_memory(); });
  return fastest;
}

// True where a difference is rounding, or is not seen in what is printed: then neither point is the better one.
bool is_tie(double one, double other, const std::string& one_text, const std::string& other_text) {
  constexpr double kRounding = 1e-6;
  return one_text == other_text || std::abs(one - other) <= kRounding * std::max(one, other);
}

// Of the points whose figure is the least, or ties with it, the first in the order of the axes.
std::size_t least_of(const std::vector<std::size_t>& points, const auto& figure, const auto& text) {
  const std::size_t least = *std::ranges::min_element(points, {}, figure);
  std::size_t first = least;
  for (const std::size_t point : points)
    if (is_tie(figure(point), figure(least), text(point), text(least))) first = std::min(first, point);
  return first;
}

// The cost of a million samples at the fastest point that fits, and the point at which they cost least, where that is
// another one. `first`: the point that the summary has told of, "there".
std::string cheapest_text(const SweepResult& result, const std::vector<std::size_t>& fastest, std::size_t first) {
  const std::vector<std::size_t> fit = those_that_fit(result, fastest);
  if (fit.size() < 2 || !result.currency()) return "";
  const auto price = [&](std::size_t p) {
    return result.cost_per_million_samples(p).value_or(std::numeric_limits<double>::infinity());
  };
  const auto text_of = [&](std::size_t p) { return price_text(result, price(p)); };
  const std::size_t best = fit.front(), least = least_of(fit, price, text_of);
  if (!std::isfinite(price(best))) return "";
  const bool ties = is_tie(price(best), price(least), text_of(best), text_of(least));
  const std::size_t cheapest = ties ? best : least;
  std::string text = best == first ? "A million samples cost "
                                   : fmt::format("The fastest point that fits is {}, with {}: a million samples cost ",
                                                 named_values(result, best), samples_text(result, best));
  text += fmt::format("{} there", price_text(result, price(best)));
  if (cheapest == best) {
    const auto as_cheap = [&](std::size_t p) { return is_tie(price(p), price(best), text_of(p), text_of(best)); };
    text +=
        std::ranges::count_if(fit, as_cheap) > 1 ? ", and at no other point less." : ", less than at any other point.";
  } else if (cheapest == first) {
    text += ".";
  } else {
    text += fmt::format(". They cost least at {}: {}, with {}.", named_values(result, cheapest), text_of(cheapest),
                        samples_text(result, cheapest));
  }
  return text + (result.currency()->empty() ? " Prices are in the currency of cost_per_gpu_hour." : "");
}

// Names the point with the least memory, where that is worth a choice.
std::string least_memory_text(const SweepResult& result, const std::vector<std::size_t>& fastest) {
  constexpr double kTelling = 0.95;
  const std::vector<std::size_t> fit = those_that_fit(result, fastest);
  if (fit.size() < 2) return "";
  const auto peak = [&](std::size_t p) { return static_cast<double>(result.at(p).peak_bytes); };
  const auto text_of = [&](std::size_t p) { return fixed(peak(p) / 0x1p30, 2); };
  const std::size_t best = fit.front(), least = least_of(fit, peak, text_of);
  if (peak(least) > kTelling * peak(best)) return "";
  return fmt::format("Least memory: {} GiB of the fullest GPU instead of {}, at {}, with {}.", text_of(least),
                     text_of(best), named_values(result, least), samples_text(result, least));
}

// Names other points that somebody might choose.
std::string alternatives_text(const SweepResult& result, const std::vector<std::size_t>& fastest, std::size_t first,
                              SweepOrder order) {
  const std::string cheapest = cheapest_text(result, fastest, first),
                    least = order == SweepOrder::memory ? "" : least_memory_text(result, fastest);
  return cheapest + (cheapest.empty() || least.empty() ? "" : " ") + least;
}

// What index_dedup would take off the points that are told first, where that is telling: by their roles, for their
// values stand in the sentences around it.
std::string sweep_dedup_text(const SweepResult& result, SweepOrder order) {
  constexpr double kTelling = 10;  // % of the iteration, as for the advice of a run
  const std::vector<std::size_t> told = told_points(result, order);
  std::vector<std::string> texts;
  for (const std::size_t point : told) {
    const auto without = result.without_duplicates.find(point);
    if (without == result.without_duplicates.end()) continue;
    const double ms = result.at(point).iteration_ms, with = without->second.iteration_ms;
    if (100 * (1 - with / ms) < kTelling) continue;
    texts.push_back(fmt::format("the best point{} takes {} instead of {} ms ({} times fewer ids)",
                                point == told.front() ? "" : " that TorchRec can run", fixed(with, decimals_for(with)),
                                fixed(ms, decimals_for(ms)), fewer_text(without->second.fewer_ids)));
  }
  if (texts.empty()) return "";
  return fmt::format("With 'index_dedup: true' and its plan kept, {}; planned anew it may take less.",
                     join(texts, ", and "));
}

// Explains the question marks of these points.
std::string sweep_doubt_sentence(const SweepResult& result, const std::vector<std::size_t>& points) {
  std::vector<const Interval*> intervals;
  for (const std::size_t point : points)
    if (result.at(point).interval) intervals.push_back(&*result.at(point).interval);
  return doubt_sentence(intervals, "with --details more");
}

// That TorchRec cannot run the plan of the point which stands first, and the best of those that it can; "" where it
// can.
std::string sweep_torchrec_warning(const SweepResult& result, const std::vector<std::size_t>& sorted) {
  if (sorted.empty() || result.at(sorted.front()).beyond_torchrec.empty()) return "";
  const auto other = first_of_torchrec(result, sorted);
  const std::string instead = !other ? "--torchrec-only plans without"
                                     : fmt::format("of these points it can run {}, with {}",
                                                   named_values(result, *other), samples_text(result, *other));
  return fmt::format("TorchRec cannot run the plan of {}, which has {}; {}.", named_values(result, sorted.front()),
                     result.at(sorted.front()).beyond_torchrec, instead);
}

}  // namespace

Document sweep_document(const SweepResult& result, Medium medium, SweepOrder order) {
  const bool page = medium == Medium::page;
  std::vector<std::size_t> sorted = sorted_points(result, order);
  Document document;
  if (page) {
    document.title = result.sweep->title;
    document.origin = fmt::format("{}, case {}, seed {}, shardsim {}", result.sweep->path, result.sweep->base.name,
                                  result.sweep->seed, version());
  }
  const std::vector<std::size_t> fastest = sorted_points(result, SweepOrder::samples);
  document.blocks.emplace_back(Paragraph{sweep_summary(result, fastest, sorted, order), Paragraph::Role::summary});
  const std::size_t first = sorted.empty() ? 0 : sorted.front();
  if (medium != Medium::terminal && !sorted.empty()) {  // where a note says it
    if (std::string warning = sweep_order_warning(result, first); !warning.empty())
      document.blocks.emplace_back(Paragraph{std::move(warning), Paragraph::Role::notice});
  }
  // All notes are printed on a terminal, where one of them says it.
  if (const std::string text = sweep_torchrec_warning(result, sorted); medium != Medium::terminal && !text.empty())
    document.blocks.emplace_back(Paragraph{text, Paragraph::Role::notice});
  if (std::string same = same_rest_sentence(result, sorted); !same.empty())
    document.blocks.emplace_back(Paragraph{std::move(same), Paragraph::Role::notice});
  std::vector<Chart> charts;
  if (std::string text = sweep_dedup_text(result, order); !text.empty())
    document.blocks.emplace_back(Paragraph{std::move(text), Paragraph::Role::notice});
  if (std::string cheapest = cheapest_text(result, fastest, first); medium == Medium::screen && !cheapest.empty())
    document.blocks.emplace_back(Paragraph{std::move(cheapest), Paragraph::Role::summary});
  if (page) {
    const std::string more = alternatives_text(result, fastest, first, order);
    if (!more.empty()) document.blocks.emplace_back(Paragraph{more, Paragraph::Role::summary});
    charts = sweep_charts(result);
    if (!charts.empty()) document.blocks.emplace_back(std::move(charts.front()));
  }
  const std::size_t shown = std::min(sorted.size(), most_shown(medium));
  std::string legend = points_legend(result, page);
  if (shown < sorted.size())
    legend += fmt::format(" The first {} of {}; all are in sweep.csv and sweep.h5.", shown, sorted.size());
  sorted.resize(shown);
  Section best = table_section("Points", legend, points_sheet(result, sorted, page, order));
  best.remark = order_remark(order);
  document.add(std::move(best));
  if (medium == Medium::screen) {  // elsewhere How sure names the constants, and what was never measured
    if (std::string doubt = sweep_doubt_sentence(result, sorted); !doubt.empty())
      document.blocks.emplace_back(Paragraph{std::move(doubt), Paragraph::Role::summary});
    if (std::string unlike = sweep_evidence_sentence(result, sorted); !unlike.empty())
      document.blocks.emplace_back(Paragraph{std::move(unlike), Paragraph::Role::notice});
  }
  for (std::size_t chart = 1; chart < charts.size(); ++chart) document.blocks.emplace_back(std::move(charts[chart]));
  document.add(sweep_how_sure(result, sorted, medium, order));
  document.add(sweep_notes(result, sorted));
  document.add(sweep_failures(result));
  return document;
}

std::string sweep_html(const SweepResult& result, SweepOrder order) {
  return page_html(sweep_document(result, Medium::page, order));
}

}  // namespace shardsim
