#include <fmt/format.h>

#include "accuracy/measurements/judgement.h"
#include "base/document/cells.h"
#include "base/text.h"
#include "base/units.h"

namespace shardsim {
namespace {

// The target of the project: median error from 1 MiB up, without calibration.
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

Sheet figures_sheet(std::vector<std::string> headers, const std::string& last) {
  headers.insert(headers.end(), {"rows from 1 MiB", "median %", "p95 %", "signed %", "64 KiB to 1 MiB, median %",
                                 "below 64 KiB, median %", last});
  return sheet_with(headers);
}

void add_row(Sheet& sheet, std::vector<std::string> cells, const BandFigures& figures, const std::string& last) {
  const ErrorFigures& from_1mib = figures.from_1mib();
  cells.insert(cells.end(), {std::to_string(from_1mib.rows), percent(from_1mib.median_abs_pct),
                             percent(from_1mib.p95_abs_pct), signed_percent(from_1mib.signed_pct),
                             percent(figures.bands[1].median_abs_pct), percent(figures.bands[0].median_abs_pct), last});
  sheet.rows.push_back({std::move(cells)});
}

Sheet overall_sheet_of_bounds(const Judgement& judgement) {
  Sheet sheet = figures_sheet({"over all systems", "systems"}, "bound %");
  const auto add = [&](std::string_view name, const BandFigures& figures, std::optional<double> bound) {
    add_row(sheet, {std::string(name), std::to_string(figures.groups)}, figures,
            bound_text(bound, figures.from_1mib().median_abs_pct));
  };
  for (const auto& [kind, figures] : judgement.by_kind) add(collective_kind_name(kind), figures, std::nullopt);
  add("all collectives", judgement.overall, kBoundOverall);
  if (judgement.unfitted) add("the same, nothing fitted", *judgement.unfitted, kBoundOverall);
  add("with rows out of the model", judgement.with_out_of_model, std::nullopt);
  return sheet;
}

Section systems_section(const Judgement& judgement, bool in_model) {
  Sheet sheet = in_model ? figures_sheet({"system", "collective", "fitted to"}, "bound %")
                         : figures_sheet({"system", "collective"}, "out of the model because");
  for (const SystemFigures& system : judgement.systems) {
    if (system.out_of_model.empty() != in_model) continue;
    std::vector<std::string> cells{system.system, std::string(collective_kind_name(system.kind))};
    if (in_model) cells.emplace_back(fits_words(system.fits).cell);
    add_row(
        sheet, std::move(cells), system.figures,
        in_model ? bound_text(target_of(system.kind), system.figures.from_1mib().median_abs_pct) : system.out_of_model);
  }
  return {in_model ? "Each system in the model" : "Rows out of the model", {std::move(sheet)}};
}

std::string values_of(const FittedOverhead& row) {
  std::vector<std::string> values;
  if (row.start) values.push_back("start " + to_text(*row.start));
  if (row.per_remote_peer) values.push_back("per remote peer " + to_text(*row.per_remote_peer));
  if (row.fill) values.push_back("fill " + to_text(*row.fill));
  if (row.nvls_fill) values.push_back("fill of NVLS and NVLSTree " + to_text(*row.nvls_fill));
  if (row.efficiency) values.push_back("efficiency " + shortest(*row.efficiency));
  if (row.nic_efficiency) values.push_back("NIC efficiency " + shortest(*row.nic_efficiency));
  if (row.node_rate) values.push_back("the NICs of a node carry at most " + to_text(*row.node_rate));
  if (row.channel_rate) {
    const std::string from =
        fmt::format(", from compute capability {}.{} on", row.capability_from / 10, row.capability_from % 10);
    values.push_back("a channel of a pair " + to_text(*row.channel_rate) + (row.capability_from > 0 ? from : ""));
  }
  if (row.latency_share) values.push_back("share of NCCL's latency " + shortest(*row.latency_share));
  if (row.plateau) values.push_back(*row.plateau ? "with plateau" : "without plateau");
  return join(values, "; ");
}

std::string nics_text(const FittedOverhead& row) {
  constexpr double kGbitPerByte = 8e-9;
  return row.nics_from ? fmt::format("from {} Gbit/s on", shortest(kGbitPerByte * row.nics_from->bytes_per_second))
                       : "any";
}

Sheet overheads_sheet() {
  Sheet sheet = sheet_with({"collectives", "reach", "network", "NICs", "values", "fitted on"});
  for (const FittedOverhead& row : open_data_fits().rows) {
    sheet.rows.push_back(
        {{join(row.kinds), row.across_nodes ? "across nodes" : "in a node", row.network.empty() ? "any" : row.network,
          nics_text(row), values_of(row), join(row.fitted_on, "; ")}});
  }
  return sheet;
}

// The target of the project with at most four rows of each collective: median error on the others.
constexpr double kBoundExchange = 5;  // all_reduce and all_to_all from 1 MiB up
constexpr double kBoundOthers = 8;
constexpr double kGoalBelow1MiB = 15;

double bound_of(CollectiveKind kind) {
  const bool is_exchange = kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_to_all;
  return is_exchange ? kBoundExchange : kBoundOthers;
}

ErrorFigures figures_of(const CalibratedJudgement& calibrated, const CalibratedJudgement::Pair& pair,
                        const SizeBand& band) {
  std::vector<Pair> of_it;
  for (const JudgedRow& row : calibrated.judgement.rows)
    if (row.measured.system == pair.system && row.measured.kind == pair.kind) of_it.push_back(row.pair());
  return error_figures(of_it, band);
}

}  // namespace

std::string judgement_markdown(const Judgement& judgement) {
  Document document;
  document.blocks = {Section{"Over all systems, each weighing the same", {overall_sheet_of_bounds(judgement)}},
                     systems_section(judgement, true), systems_section(judgement, false),
                     Section{"Fitted constants (`fits: open_data`)", {overheads_sheet()}}};
  return document_markdown(document, 3);
}

std::string calibrated_markdown(const CalibratedJudgement& calibrated) {
  const auto against = [](double bound, const std::optional<double>& median) {
    return median ? bound_text(bound, median) : "-";
  };
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
                            percent(calibrated.judgement.overall.from_1mib().median_abs_pct))}};
  return document_markdown(document, 3);
}

}  // namespace shardsim
