#include "validate/measurements/judgement_markdown.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "sim/report/numbers.h"
#include "validate/measurements/error_text.h"
#include "validate/measurements/markdown_line.h"

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

std::string header(const std::vector<std::string>& cells) {
  return markdown_line(cells) + markdown_line(std::vector<std::string>(cells.size(), "---"));
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

std::string overall_table(const Judgement& judgement) {
  const auto row = [](const std::string& name, const BandFigures& figures, std::optional<double> bound) {
    const std::string systems = std::to_string(figures.systems);
    return markdown_line(
        with(with({name, systems}, figures_cells(figures)), {bound_text(bound, figures.from_1mib.median_abs_pct)}));
  };
  std::string table = header(with(with({"over all systems", "systems"}, kFigureColumns), {"bound %"}));
  for (const auto& entry : judgement.by_kind) {
    table += row(std::string(collective_kind_name(entry.first)), entry.second, std::nullopt);
  }
  table += row("all collectives", judgement.overall, kBoundOverall);
  if (judgement.unfitted) table += row("the same, nothing fitted", *judgement.unfitted, kBoundOverall);
  return table + row("with rows out of the model", judgement.with_out_of_model, std::nullopt);
}

std::string fits_cell(FitsUsed fits) {
  if (fits == FitsUsed::none) return "nothing";
  if (fits == FitsUsed::calibrated) return "other rows of it";
  return fits == FitsUsed::left_out ? "other systems" : "the open data";
}

std::string systems_table(const Judgement& judgement) {
  std::string table = header(with(with({"system", "collective", "fitted to"}, kFigureColumns), {"bound %"}));
  for (const SystemFigures& system : judgement.systems) {
    if (!system.out_of_model.empty()) continue;
    table +=
        markdown_line(with(with({system.system, std::string(collective_kind_name(system.kind)), fits_cell(system.fits)},
                                figures_cells(system.figures)),
                           {bound_text(target_of(system.kind), system.figures.from_1mib.median_abs_pct)}));
  }
  return table;
}

std::string out_of_model_table(const Judgement& judgement) {
  std::string table = header(with(with({"system", "collective"}, kFigureColumns), {"out of the model because"}));
  for (const SystemFigures& system : judgement.systems) {
    if (system.out_of_model.empty()) continue;
    table += markdown_line(
        with(with({system.system, std::string(collective_kind_name(system.kind))}, figures_cells(system.figures)),
             {system.out_of_model}));
  }
  return table;
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

std::string constants_table() {
  std::string table = header({"collectives", "reach", "network", "GPUs", "values", "fitted on"});
  for (const FittedOverhead& row : open_data_fits().rows) {
    table += markdown_line({join(row.kinds), row.across_nodes ? "across nodes" : "in a node",
                            row.network.empty() ? "any" : row.network, generation_text(row), values_of(row),
                            join(row.fitted_on, "; ")});
  }
  return table;
}

}  // namespace

std::string judgement_markdown(const Judgement& judgement) {
  return "### Over all systems, each weighing the same\n\n" + overall_table(judgement) +
         "\n### Each system in the model\n\n" + systems_table(judgement) + "\n### Rows out of the model\n\n" +
         out_of_model_table(judgement) + "\n### Fitted constants (`fits: open_data`)\n\n" + constants_table();
}

}  // namespace shardsim
