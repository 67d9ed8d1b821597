#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "accuracy/measurements/judgement.h"
#include "base/document/cells.h"
#include "base/files.h"
#include "base/text.h"
#include "study/report/page.h"

namespace shardsim {
namespace {

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

// A row for each of the first `most` bands that have measurements; the name stands in the first of them only.
void add_bands(Sheet& sheet, std::string name, const BandFigures& figures, bool quiet,
               std::size_t most = kDisjointBands) {
  for (std::size_t i = 0; i < most; ++i) {
    if (figures.bands[i].rows == 0) continue;
    sheet.rows.push_back(band_row(name, kSizeBands[i], figures.bands[i]));
    sheet.rows.back().quiet = quiet;
    name.clear();
  }
}

// Per system and collective, one row per size band that has measurements. Rows out of the model are quiet.
Sheet systems_sheet(const Judgement& judgement) {
  Sheet sheet = empty_sheet("collective");
  const SystemFigures* before = nullptr;
  for (const SystemFigures& system : judgement.systems) {
    const bool is_out = !system.out_of_model.empty();
    if (before == nullptr || before->system != system.system || before->out_of_model.empty() == is_out) {
      sheet.rows.push_back(
          {{fmt::format("{}, cluster {}{}", system.system, system.cluster, words_of(system.fits).phrase)}});
      if (is_out) sheet.rows.push_back({{"out of the model: " + system.out_of_model}, true});
    }
    before = &system;
    add_bands(sheet, std::string(collective_kind_name(system.kind)), system.figures, is_out);
  }
  return sheet;
}

// Over all systems in the model, each weighing the same: per collective and over all, then with the rows out of the
// model.
Sheet overall_sheet(const Judgement& judgement) {
  Sheet sheet = empty_sheet("over all systems");
  const auto add = [&](std::string_view name, const BandFigures& figures, bool quiet) {
    add_bands(sheet, std::string(name), figures, quiet, kDisjointBands + 1);
  };
  for (const auto& [kind, figures] : judgement.by_kind) add(collective_kind_name(kind), figures, false);
  add("all collectives", judgement.overall, false);
  if (judgement.unfitted) add("the same, nothing fitted", *judgement.unfitted, true);
  if (judgement.out_of_model_rows > 0) add("with rows out of the model", judgement.with_out_of_model, true);
  return sheet;
}

constexpr const char* kLegend =
    "Errors of predicted compared with measured times: median, mean and 95th percentile of their size. signed: the "
    "mean with its sign, positive if the predicted time is too long.";

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

// Systems in the order of the table: those in the model first.
Section charts_section(const Judgement& judgement) {
  Section section{"Predicted against measured",
                  {Paragraph{"One chart per system, with logarithmic axes. On the dashed line the prediction is exact; "
                             "the band is 10 % in both directions. Hollow points are outside the model.",
                             Paragraph::Role::caption}}};
  section.side_by_side = true;
  std::set<std::string> drawn;
  for (const SystemFigures& figures : judgement.systems) {
    if (!drawn.insert(figures.system).second) continue;
    DataSet points{
        "points",
        {"collective", "setting", "size_bytes", "measured_us", "predicted_us", "error_pct", "algorithm", "side"},
        {}};
    for (const JudgedRow& row : judgement.rows)
      if (row.measured.system == figures.system) points.rows.push_back(point(row));
    const std::string why = figures.out_of_model.empty() ? "" : " Out of the model: " + figures.out_of_model + ".";
    section.blocks.emplace_back(Chart{fmt::format("system_{}", drawn.size()),
                                      "predicted_vs_measured",
                                      figures.system,
                                      fmt::format("{} rows, cluster {}.{}", points.rows.size(), figures.cluster, why),
                                      false,
                                      {points}});
  }
  return section;
}

}  // namespace

std::string judgement_summary(const Judgement& judgement) {
  const BandFigures& overall = judgement.overall;
  std::string text = fmt::format("{} measured collectives of {} systems predicted", overall.rows, overall.systems);
  if (overall.from_1mib().rows > 0) {
    text += fmt::format(
        ": from 1 MiB up, the median error is {} %, and 95 of 100 errors are at most {} %, with the same weight for "
        "every system",
        percent(overall.from_1mib().median_abs_pct), percent(overall.from_1mib().p95_abs_pct));
  }
  text += ".";
  const auto add_count = [&](int count, const std::string& what, const std::string& said) {
    if (count > 0)
      text += fmt::format(" {} {} {}", counted(static_cast<std::size_t>(count), what), count == 1 ? "is" : "are", said);
  };
  add_count(judgement.out_of_model_rows, "row", "out of the model, for reasons known before predicting.");
  const auto left_out = [](const SystemFigures& system) { return system.fits == FitsUsed::left_out; };
  if (std::ranges::any_of(judgement.systems, left_out)) {
    text += " Systems whose measurements went into fitted constants are judged by a fit without them.";
  }
  add_count(judgement.incomplete, "statement", "without a size or a time and left out.");
  add_count(judgement.of_one_gpu, "row", "of a single GPU, which exchanges nothing, and left out.");
  return text;
}

Document judgement_document(const Judgement& judgement, Medium medium) {
  const Paragraph summary{judgement_summary(judgement), Paragraph::Role::summary};
  const Paragraph legend{kLegend, Paragraph::Role::caption};
  Section systems{"Each system", {systems_sheet(judgement)}};
  systems.style = Section::Heading::page_only;
  Section overall{"Over all systems in the model", {overall_sheet(judgement)}, "every system weighing the same"};
  overall.style = Section::Heading::as_it_is;
  Document document;
  if (medium == Medium::terminal) {
    document.blocks = {std::move(systems), std::move(overall), Section{"", {legend}}, Section{"", {summary}}};
    return document;
  }
  document.title = "Collectives: predicted against measured";
  document.origin = fmt::format("{}, map {}, shardsim {}", judgement.measurements, judgement.map, version());
  document.blocks = {summary, std::move(overall), legend, charts_section(judgement), std::move(systems)};
  return document;
}

std::string judgement_text(const Judgement& judgement, int width, bool colour) {
  return document_text(judgement_document(judgement, Medium::terminal), width, colour);
}

std::string judgement_html(const Judgement& judgement) {
  return page_html(judgement_document(judgement, Medium::page));
}

}  // namespace shardsim
