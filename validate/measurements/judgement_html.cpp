#include "validate/measurements/judgement_html.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/version.h"
#include "sim/report/html.h"
#include "sim/report/page.h"
#include "validate/measurements/judgement_sheets.h"

namespace shardsim {
namespace {

constexpr const char* kPlot = "predicted_vs_measured";

std::vector<DataSet::Cell> point(const JudgedRow& row) {
  const MeasuredRow& m = row.measured;
  return {std::string(collective_kind_name(m.kind)),
          fmt::format("{} x {}{}{}", m.nodes, m.gpus_per_node, m.setting.empty() ? "" : ", ", m.setting),
          static_cast<double>(*m.bytes),
          m.time->us(),
          row.predicted().us(),
          row.error_pct(),
          row.prediction.algorithm + (row.prediction.protocol.empty() ? "" : " " + row.prediction.protocol),
          std::string(row.out_of_model.empty() ? "in the model" : "out of the model")};
}

DataSet points_of(const std::vector<const JudgedRow*>& rows) {
  DataSet points{
      "points",
      {"collective", "setting", "size_bytes", "measured_us", "predicted_us", "error_pct", "algorithm", "side"},
      {}};
  for (const JudgedRow* row : rows) points.rows.push_back(point(*row));
  return points;
}

std::vector<const JudgedRow*> rows_of(const std::string& system, const Judgement& judgement) {
  std::vector<const JudgedRow*> rows;
  for (const JudgedRow& row : judgement.rows) {
    if (row.measured.system == system) rows.push_back(&row);
  }
  return rows;
}

std::string caption_of(const std::vector<const JudgedRow*>& rows, const std::string& out_of_model) {
  std::string caption = fmt::format("{} rows, cluster {}.", rows.size(), rows.front()->cluster);
  if (!out_of_model.empty()) caption += " Out of the model: " + out_of_model + ".";
  return caption;
}

// Systems in the order of the table: those in the model first.
std::vector<Chart> charts_of(const Judgement& judgement) {
  std::vector<Chart> charts;
  std::vector<std::string> drawn;
  for (const SystemFigures& figures : judgement.systems) {
    if (std::ranges::find(drawn, figures.system) != drawn.end()) continue;
    drawn.push_back(figures.system);
    const auto rows = rows_of(figures.system, judgement);
    Chart chart;
    chart.id = fmt::format("system_{}", drawn.size());
    chart.plot = kPlot;
    chart.title = figures.system;
    chart.caption = caption_of(rows, figures.out_of_model);
    chart.data = {points_of(rows)};
    charts.push_back(std::move(chart));
  }
  return charts;
}

std::string charts_html(const Judgement& judgement) {
  const bool drawn = charts_available();
  std::string charts;
  for (const Chart& chart : charts_of(judgement)) charts += chart_html(chart, drawn);
  return "<section><h2>Predicted against measured</h2>\n<p class=\"caption\">One chart per system, both axes "
         "logarithmic. On the dashed line the prediction is exact; the band is 10 % to either side. Hollow points are "
         "out of the model.</p>\n<div class=\"grid\">\n" +
         charts + "</div></section>\n";
}

}  // namespace

std::string judgement_html(const Judgement& judgement) {
  const std::string title = "Collectives: predicted against measured";
  const std::string opening = fmt::format(
      "<header><h1>{}</h1>\n<p class=\"origin\">{}, map {}, shardsim {}</p>\n</header>\n<main>\n"
      "<p class=\"summary\">{}</p>\n",
      title, escape_html(judgement.measurements), escape_html(judgement.map), escape_html(version()),
      escape_html(judgement_summary(judgement)));
  return page_html(
      title, opening +
                 table_section("Over all systems in the model", "Every system weighs the same. " + figures_legend(),
                               overall_sheet(judgement)) +
                 charts_html(judgement) + table_section("Each system", figures_legend(), systems_sheet(judgement)) +
                 "</main>\n");
}

}  // namespace shardsim
