#include <fmt/format.h>

#include "base/document/cells.h"
#include "base/text.h"
#include "base/units.h"
#include "validate/measurements/judgement_document.h"

namespace shardsim {
namespace {

// What the project set out to reach: median error from 1 MiB up, without calibration.
constexpr double kBoundOverall = 10;

std::optional<double> target_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 12;
    case CollectiveKind::all_to_all:
      return 15;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return 20;
    default:
      return std::nullopt;
  }
}

// "12", or with what the median is above it, "12, missed by 1.3"; "none" without a bound.
std::string bound_text(const std::optional<double>& bound, const std::optional<double>& median) {
  if (!bound) return "none";
  const std::string text = shortest(*bound);
  return median && *median > *bound ? fmt::format("{}, missed by {:.1f}", text, *median - *bound) : text;
}

Sheet sheet_with(const std::vector<std::string>& headers) {
  Sheet sheet;
  for (const std::string& header : headers) sheet.columns.push_back({header});
  return sheet;
}

std::vector<std::string> figures_cells(const BandFigures& figures) {
  return {std::to_string(figures.from_1mib.rows),   percent(figures.from_1mib.median_abs_pct),
          percent(figures.from_1mib.p95_abs_pct),   signed_percent(figures.from_1mib.signed_pct),
          percent(figures.bands[1].median_abs_pct), percent(figures.bands[0].median_abs_pct)};
}

const std::vector<std::string> kFigureColumns = {
    "rows from 1 MiB", "median %", "p95 %", "signed %", "64 KiB to 1 MiB, median %", "below 64 KiB, median %"};

std::vector<std::string> with(std::vector<std::string> cells, const std::vector<std::string>& more) {
  cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

Sheet overall_sheet_of_bounds(const Judgement& judgement) {
  Sheet sheet = sheet_with(with(with({"over all systems", "systems"}, kFigureColumns), {"bound %"}));
  const auto add = [&](const std::string& name, const BandFigures& figures, std::optional<double> bound) {
    sheet.rows.push_back({with(with({name, std::to_string(figures.systems)}, figures_cells(figures)),
                               {bound_text(bound, figures.from_1mib.median_abs_pct)})});
  };
  for (const auto& [kind, figures] : judgement.by_kind) {
    add(std::string(collective_kind_name(kind)), figures, std::nullopt);
  }
  add("all collectives", judgement.overall, kBoundOverall);
  if (judgement.unfitted) add("the same, nothing fitted", *judgement.unfitted, kBoundOverall);
  add("with rows out of the model", judgement.with_out_of_model, std::nullopt);
  return sheet;
}

std::string fits_cell(FitsUsed fits) {
  if (fits == FitsUsed::none) return "nothing";
  if (fits == FitsUsed::calibrated) return "other rows of it";
  return fits == FitsUsed::left_out ? "other systems" : "the open data";
}

Sheet systems_sheet_of_bounds(const Judgement& judgement) {
  Sheet sheet = sheet_with(with(with({"system", "collective", "fitted to"}, kFigureColumns), {"bound %"}));
  for (const SystemFigures& system : judgement.systems) {
    if (!system.out_of_model.empty()) continue;
    sheet.rows.push_back(
        {with(with({system.system, std::string(collective_kind_name(system.kind)), fits_cell(system.fits)},
                   figures_cells(system.figures)),
              {bound_text(target_of(system.kind), system.figures.from_1mib.median_abs_pct)})});
  }
  return sheet;
}

Sheet out_of_model_sheet(const Judgement& judgement) {
  Sheet sheet = sheet_with(with(with({"system", "collective"}, kFigureColumns), {"out of the model because"}));
  for (const SystemFigures& system : judgement.systems) {
    if (system.out_of_model.empty()) continue;
    sheet.rows.push_back(
        {with(with({system.system, std::string(collective_kind_name(system.kind))}, figures_cells(system.figures)),
              {system.out_of_model})});
  }
  return sheet;
}

std::string values_of(const FittedOverhead& row) {
  std::vector<std::string> values;
  if (row.start) values.push_back("start " + to_text(*row.start));
  if (row.per_remote_peer) values.push_back("per remote peer " + to_text(*row.per_remote_peer));
  if (row.fill) values.push_back("fill " + to_text(*row.fill));
  if (row.efficiency) values.push_back("efficiency " + shortest(*row.efficiency));
  if (row.nic_efficiency) values.push_back("NIC efficiency " + shortest(*row.nic_efficiency));
  if (row.plateau) values.push_back(*row.plateau ? "with plateau" : "without plateau");
  return join(values, "; ");
}

std::string generation_text(const FittedOverhead& row) {
  if (!row.generation) return "any";
  switch (*row.generation) {
    case NcclGeneration::volta:
      return "Volta";
    case NcclGeneration::ampere:
      return "Ampere";
    case NcclGeneration::hopper:
      return "Hopper";
    case NcclGeneration::blackwell:
      return "Blackwell";
  }
  return "any";
}

Sheet overheads_sheet() {
  Sheet sheet = sheet_with({"collectives", "reach", "network", "GPUs", "values", "fitted on"});
  for (const FittedOverhead& row : open_data_fits().rows) {
    sheet.rows.push_back(
        {{join(row.kinds), row.across_nodes ? "across nodes" : "in a node", row.network.empty() ? "any" : row.network,
          generation_text(row), values_of(row), join(row.fitted_on, "; ")}});
  }
  return sheet;
}

// What the project set out to reach with at most four rows of each collective: median error on the others.
constexpr double kBoundExchange = 5;  // all_reduce and all_to_all from 1 MiB up
constexpr double kBoundOthers = 8;
constexpr double kGoalBelow1MiB = 15;

std::string against(double bound, const std::optional<double>& median) {
  return median ? bound_text(bound, median) : "-";
}

double bound_of(CollectiveKind kind) {
  const bool is_exchange = kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_to_all;
  return is_exchange ? kBoundExchange : kBoundOthers;
}

ErrorFigures figures_of(const CalibratedJudgement& calibrated, const CalibratedJudgement::Pair& pair,
                        const SizeBand& band) {
  std::vector<WeighedError> errors;
  for (const JudgedRow& row : calibrated.judgement.rows) {
    const bool is_it = row.measured.system == pair.system && row.measured.kind == pair.kind;
    if (is_it && band.holds(*row.measured.bytes)) errors.push_back({row.error_pct()});
  }
  return error_figures(std::move(errors));
}

}  // namespace

std::string judgement_markdown(const Judgement& judgement) {
  Document document;
  document.blocks = {Section{"Over all systems, each weighing the same", {overall_sheet_of_bounds(judgement)}},
                     Section{"Each system in the model", {systems_sheet_of_bounds(judgement)}},
                     Section{"Rows out of the model", {out_of_model_sheet(judgement)}},
                     Section{"Fitted constants (`fits: open_data`)", {overheads_sheet()}}};
  return document_markdown(document, 3);
}

std::string calibrated_markdown(const CalibratedJudgement& calibrated) {
  Sheet sheet = sheet_with({"calibrated system", "collective", "rows used", "other rows from 1 MiB", "median %",
                            "p95 %", "bound %", "other rows below 1 MiB", "median %", "goal %"});
  for (const CalibratedJudgement::Pair& pair : calibrated.pairs) {
    const ErrorFigures from = figures_of(calibrated, pair, kFrom1MiB), below = figures_of(calibrated, pair, kBelow1MiB);
    sheet.rows.push_back({{pair.system, std::string(collective_kind_name(pair.kind)), std::to_string(pair.used),
                           std::to_string(from.rows), percent(from.median_abs_pct), percent(from.p95_abs_pct),
                           against(bound_of(pair.kind), from.median_abs_pct), std::to_string(below.rows),
                           percent(below.median_abs_pct), against(kGoalBelow1MiB, below.median_abs_pct)}});
  }
  Document document;
  document.blocks = {
      std::move(sheet),
      Paragraph{fmt::format("Over all systems, each weighing the same: {} % in the median from 1 MiB up.",
                            percent(calibrated.judgement.overall.from_1mib.median_abs_pct))}};
  return document_markdown(document, 3);
}

}  // namespace shardsim
