#include "validate/measurements/judgement_document.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document/cells.h"
#include "base/files.h"
#include "sim/report/page.h"

namespace shardsim {
namespace {

std::string counted(int count, const std::string& one, const std::string& many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

Sheet empty_sheet(const std::string& what) {
  Sheet sheet;
  sheet.columns = {{what, false},    {"sizes", false}, {"rows", true},    {"median %", true},
                   {"mean %", true}, {"p95 %", true},  {"signed %", true}};
  return sheet;
}

Sheet::Row band_row(const std::string& name, const SizeBand& band, const ErrorFigures& figures) {
  return {{name, std::string(band.name), std::to_string(figures.rows), percent(figures.median_abs_pct),
           percent(figures.mean_abs_pct), percent(figures.p95_abs_pct), signed_percent(figures.signed_pct)}};
}

// The name stands in the first row only.
void add_bands(Sheet& sheet, std::string name, const BandFigures& figures, bool quiet) {
  for (std::size_t i = 0; i < kSizeBands.size(); ++i) {
    if (figures.bands[i].rows == 0) continue;
    sheet.rows.push_back(band_row(name, kSizeBands[i], figures.bands[i]));
    sheet.rows.back().quiet = quiet;
    name.clear();
  }
}

std::string fits_text(FitsUsed fits) {
  if (fits == FitsUsed::none) return "";
  if (fits == FitsUsed::calibrated) return ", calibrated on other rows of it";
  return fits == FitsUsed::left_out ? ", fitted without it" : ", fitted to the open data";
}

std::string heading_of(const SystemFigures& system) {
  return fmt::format("{}, cluster {}{}", system.system, system.cluster, fits_text(system.fits));
}

void add_headings(Sheet& sheet, const SystemFigures& system) {
  sheet.rows.push_back({{heading_of(system)}});
  if (!system.out_of_model.empty()) sheet.rows.push_back({{"out of the model: " + system.out_of_model}, true});
}

void add_overall(Sheet& sheet, const std::string& name, const BandFigures& figures, bool quiet) {
  add_bands(sheet, name, figures, quiet);
  if (figures.from_1mib.rows == 0) return;
  sheet.rows.push_back(band_row("", kFrom1MiB, figures.from_1mib));
  sheet.rows.back().quiet = quiet;
}

// Per system and collective, one row per size band that has measurements. Rows out of the model are quiet.
Sheet systems_sheet(const Judgement& judgement) {
  Sheet sheet = empty_sheet("collective");
  const SystemFigures* before = nullptr;
  for (const SystemFigures& system : judgement.systems) {
    const bool goes_on = before != nullptr && before->system == system.system &&
                         before->out_of_model.empty() == system.out_of_model.empty();
    if (!goes_on) add_headings(sheet, system);
    before = &system;
    add_bands(sheet, std::string(collective_kind_name(system.kind)), system.figures, !system.out_of_model.empty());
  }
  return sheet;
}

// Over all systems in the model, each weighing the same: per collective and over all, then with the rows out of the
// model.
Sheet overall_sheet(const Judgement& judgement) {
  Sheet sheet = empty_sheet("over all systems");
  for (const auto& [kind, figures] : judgement.by_kind) {
    add_overall(sheet, std::string(collective_kind_name(kind)), figures, false);
  }
  add_overall(sheet, "all collectives", judgement.overall, false);
  if (judgement.unfitted) add_overall(sheet, "the same, nothing fitted", *judgement.unfitted, true);
  if (judgement.out_of_model_rows > 0) {
    add_overall(sheet, "with rows out of the model", judgement.with_out_of_model, true);
  }
  return sheet;
}

std::string figures_legend() {
  return "Errors of predicted against measured times: median, mean and 95th percentile of their size; signed is the "
         "mean with its sign, above 0 where we predict too long a time.";
}

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

std::vector<const JudgedRow*> rows_of_system(const std::string& system, const Judgement& judgement) {
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
    const auto rows = rows_of_system(figures.system, judgement);
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

Section charts_section(const Judgement& judgement) {
  Section section{
      "Predicted against measured",
      {Paragraph{"One chart per system, both axes logarithmic. On the dashed line the prediction is exact; the "
                 "band is 10 % to either side. Hollow points are out of the model.",
                 Paragraph::Role::caption}}};
  section.side_by_side = true;
  for (Chart& chart : charts_of(judgement)) section.blocks.emplace_back(std::move(chart));
  return section;
}

}  // namespace

std::string judgement_summary(const Judgement& judgement) {
  const BandFigures& overall = judgement.overall;
  std::string text = fmt::format("{} measured collectives of {} systems predicted", overall.rows, overall.systems);
  if (overall.from_1mib.rows > 0) {
    text += fmt::format(
        ": from 1 MiB up the time is off by {} % in the median and by at most {} % in 95 of 100 cases, every system "
        "weighing the same",
        percent(overall.from_1mib.median_abs_pct), percent(overall.from_1mib.p95_abs_pct));
  }
  text += ".";
  if (judgement.out_of_model_rows > 0) {
    text += fmt::format(" {} out of the model, for reasons known before predicting.",
                        counted(judgement.out_of_model_rows, "row is", "rows are"));
  }
  const auto left_out = [](const SystemFigures& system) { return system.fits == FitsUsed::left_out; };
  if (std::ranges::any_of(judgement.systems, left_out)) {
    text += " Systems whose measurements went into fitted constants are judged by a fit without them.";
  }
  if (judgement.incomplete > 0) {
    text += fmt::format(" {} without a size or a time and left out.",
                        counted(judgement.incomplete, "statement is", "statements are"));
  }
  if (judgement.of_one_gpu > 0) {
    text += fmt::format(" {} of a single GPU, which exchanges nothing, and left out.",
                        counted(judgement.of_one_gpu, "row is", "rows are"));
  }
  return text;
}

Document judgement_document(const Judgement& judgement, Medium medium) {
  const Paragraph summary{judgement_summary(judgement), Paragraph::Role::summary};
  const Paragraph legend{figures_legend(), Paragraph::Role::caption};
  Section systems{"Each system", {systems_sheet(judgement)}};
  systems.style = Section::Heading::page_only;
  Section overall{"Over all systems in the model", {overall_sheet(judgement)}, "every system weighing the same"};
  overall.style = Section::Heading::as_it_is;
  Document document;
  if (medium == Medium::terminal) {
    document.blocks = {legend, std::move(systems), std::move(overall), Section{"", {summary}}};
    return document;
  }
  document.title = "Collectives: predicted against measured";
  document.origin = fmt::format("{}, map {}, shardsim {}", judgement.measurements, judgement.map, version());
  document.blocks = {summary, legend, std::move(overall), charts_section(judgement), std::move(systems)};
  return document;
}

std::string judgement_text(const Judgement& judgement, int width, bool colour) {
  return document_text(judgement_document(judgement, Medium::terminal), width, colour);
}

std::string judgement_html(const Judgement& judgement) {
  return page_html(judgement_document(judgement, Medium::page));
}

}  // namespace shardsim
