#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "accuracy/measurements/judgement.h"
#include "base/document/cells.h"
#include "base/files.h"
#include "base/judgement/figures.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::array kCollectiveFigures = {ErrorFigure::median, ErrorFigure::mean, ErrorFigure::p95, ErrorFigure::bias};

// Per system and collective, one row per size band that has measurements. Rows out of the model are quiet.
Sheet systems_sheet(const Judgement& judgement) {
  Sheet sheet = figures_sheet({"collective", "sizes"}, kCollectiveFigures);
  const SystemFigures* before = nullptr;
  for (const SystemFigures& system : judgement.systems) {
    const bool is_out = !system.out_of_model.empty();
    if (before == nullptr || before->system != system.system || before->out_of_model.empty() == is_out) {
      sheet.rows.push_back(
          {{fmt::format("{}, cluster {}{}", system.system, system.cluster, fits_words(system.fits).phrase)}});
      if (is_out) sheet.rows.push_back({{"out of the model: " + system.out_of_model}, true});
    }
    before = &system;
    add_bands(sheet, std::string(collective_kind_name(system.kind)), system.figures, kCollectiveFigures, is_out, 0,
              kDisjointBands);
  }
  return sheet;
}

// Over all systems in the model, each weighing the same: per collective and over all, then with the rows out of the
// model.
Sheet overall_sheet(const Judgement& judgement) {
  Sheet sheet = figures_sheet({"over all systems", "sizes"}, kCollectiveFigures);
  const auto add = [&](std::string_view name, const BandFigures& figures, bool quiet) {
    add_bands(sheet, std::string(name), figures, kCollectiveFigures, quiet, 0, kDisjointBands + 1);
  };
  for (const auto& [kind, figures] : judgement.by_kind) add(collective_kind_name(kind), figures, false);
  add("all collectives", judgement.overall, false);
  if (judgement.unfitted) add("the same, nothing fitted", *judgement.unfitted, true);
  if (judgement.out_of_model_rows > 0) add("with rows out of the model", judgement.with_out_of_model, true);
  return sheet;
}

// Systems in the order of the table: those in the model first.
Section charts_of(const Judgement& judgement) {
  std::vector<Chart> charts;
  std::map<std::string, std::vector<Pair>> points_of;
  for (const JudgedRow& row : judgement.rows) points_of[row.measured.system].push_back(row.pair());
  std::set<std::string> drawn;
  for (const SystemFigures& figures : judgement.systems) {
    if (!drawn.insert(figures.system).second) continue;
    const std::vector<Pair>& points = points_of.at(figures.system);
    const std::string why = figures.out_of_model.empty() ? "" : " Out of the model: " + figures.out_of_model + ".";
    charts.push_back(pairs_chart(fmt::format("system_{}", drawn.size()), figures.system,
                                 fmt::format("{} rows, cluster {}.{}", points.size(), figures.cluster, why), points));
  }
  return charts_section("system", "are outside the model", std::move(charts));
}

}  // namespace

std::string judgement_summary(const Judgement& judgement) {
  const BandFigures& overall = judgement.overall;
  std::string text =
      fmt::format("{} of {} predicted", counted(static_cast<std::size_t>(overall.rows), "measured collective"),
                  counted(static_cast<std::size_t>(overall.groups), "system"));
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
  JudgementPage page;
  page.title = "Collectives: predicted against measured";
  page.origin = fmt::format("{}, map {}, shardsim {}", judgement.measurements, judgement.map, version());
  page.summary = judgement_summary(judgement);
  page.legend = figures_legend(kCollectiveFigures);
  page.parts = {"Each system", {systems_sheet(judgement)}};
  page.overall = {"Over all systems in the model", {overall_sheet(judgement)}, "every system weighing the same"};
  if (medium == Medium::page) page.charts = charts_of(judgement);
  return document_of(std::move(page), medium);
}

}  // namespace shardsim
