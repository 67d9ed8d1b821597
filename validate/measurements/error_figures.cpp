#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "validate/measurements/judged_row.h"

namespace shardsim {
namespace {

constexpr double kMedian = 0.5;
constexpr double kP95 = 0.95;
constexpr double kSameShare = 1e-9;  // sums of weights that differ less are the same sum

// `errors` sorted by size; weights add up to `total`.
double quantile(const std::vector<WeighedError>& errors, double total, double share) {
  double below = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    below += errors[i].weight / total;
    if (below > share + kSameShare || i + 1 == errors.size()) return errors[i].error_pct;
    if (below > share - kSameShare) return (errors[i].error_pct + errors[i + 1].error_pct) / 2;
  }
  return 0;
}

double mean(const std::vector<WeighedError>& errors, double total) {
  double sum = 0;
  for (const WeighedError& error : errors) sum += error.weight * error.error_pct;
  return sum / total;
}

ErrorFigures figures_in(const SizeBand& band, const std::vector<const JudgedRow*>& rows) {
  std::map<std::string, int> rows_of;
  for (const JudgedRow* row : rows) {
    if (band.holds(*row->measured.bytes)) ++rows_of[row->measured.system];
  }
  std::vector<WeighedError> errors;
  for (const JudgedRow* row : rows) {
    if (band.holds(*row->measured.bytes)) errors.push_back({row->error_pct(), 1.0 / rows_of[row->measured.system]});
  }
  return error_figures(std::move(errors));
}

}  // namespace

ErrorFigures error_figures(std::vector<WeighedError> errors) {
  ErrorFigures figures;
  figures.rows = static_cast<int>(errors.size());
  if (errors.empty()) return figures;
  double total = 0;
  for (const WeighedError& error : errors) total += error.weight;
  figures.signed_pct = mean(errors, total);
  for (WeighedError& error : errors) error.error_pct = std::abs(error.error_pct);
  std::ranges::sort(errors, {}, &WeighedError::error_pct);
  figures.mean_abs_pct = mean(errors, total);
  figures.median_abs_pct = quantile(errors, total, kMedian);
  figures.p95_abs_pct = quantile(errors, total, kP95);
  return figures;
}

BandFigures band_figures(const std::vector<const JudgedRow*>& rows) {
  BandFigures figures;
  std::set<std::string> systems;
  for (const JudgedRow* row : rows) systems.insert(row->measured.system);
  figures.rows = static_cast<int>(rows.size());
  figures.systems = static_cast<int>(systems.size());
  std::ranges::transform(kSizeBands, figures.bands.begin(),
                         [&](const SizeBand& band) { return figures_in(band, rows); });
  return figures;
}

}  // namespace shardsim
