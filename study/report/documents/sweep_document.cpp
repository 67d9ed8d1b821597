#include "study/report/documents/sweep_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/document/cells.h"
#include "base/files.h"
#include "base/text.h"
#include "study/report/documents/sweep_answer.h"
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
  if (std::string cheapest = sweep_cost_text(result, fastest, first); medium == Medium::screen && !cheapest.empty())
    document.blocks.emplace_back(Paragraph{std::move(cheapest), Paragraph::Role::summary});
  if (page) {
    const std::string more = sweep_alternatives_text(result, fastest, first, order);
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
