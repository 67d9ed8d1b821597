#include "validate/measurements/judgement_sheets.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/numbers.h"
#include "validate/measurements/error_text.h"

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

}  // namespace

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

std::string figures_legend() {
  return "Errors of predicted against measured times: median, mean and 95th percentile of their size; signed is the "
         "mean with its sign, above 0 where we predict too long a time.";
}

std::string judgement_text(const Judgement& judgement, int width, bool colour) {
  return wrapped(figures_legend(), width, "") + "\n" + sheet_text(systems_sheet(judgement), width, colour) + "\n" +
         bold("Over all systems in the model, every system weighing the same", colour) + "\n" +
         sheet_text(overall_sheet(judgement), width, colour) + "\n" + wrapped(judgement_summary(judgement), width, "");
}

}  // namespace shardsim
