#include "base/judgement/pair.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace shardsim {
namespace {

constexpr double kMedianShare = 0.5, kP90Share = 0.9, kP95Share = 0.95;
constexpr double kSameShare = 1e-9;  // sums of weights that differ less are the same sum

// One error and what it counts among the others.
struct WeighedError {
  double error_pct = 0;  // signed
  double weight = 1;
};

// `errors` sorted by size; weights add up to `total`.
double weighed_quantile(const std::vector<WeighedError>& errors, double total, double share) {
  double below = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    below += errors[i].weight / total;
    if (below > share + kSameShare || i + 1 == errors.size()) return errors[i].error_pct;
    if (below > share - kSameShare) return (errors[i].error_pct + errors[i + 1].error_pct) / 2;
  }
  return 0;
}

double weighed_mean(const std::vector<WeighedError>& errors, double total) {
  double sum = 0;
  for (const WeighedError& error : errors) sum += error.weight * error.error_pct;
  return sum / total;
}

std::vector<WeighedError> weighed(const std::vector<Pair>& pairs) {
  std::map<std::string_view, int> rows_of;
  for (const Pair& pair : pairs) ++rows_of[pair.group];
  std::vector<WeighedError> errors;
  for (const Pair& pair : pairs) errors.push_back({pair.error_pct(), 1.0 / rows_of[pair.group]});
  return errors;
}

}  // namespace

double percent_off(double predicted, double observed) {
  return 100 * (predicted - observed) / observed;
}

std::optional<double> percent_off(const std::optional<double>& predicted, double observed) {
  if (!predicted || observed == 0) return std::nullopt;
  return percent_off(*predicted, observed);
}

std::vector<Pair> pairs_of(const std::vector<Pair>& pairs, Pair::Role role) {
  std::vector<Pair> found;
  std::ranges::copy_if(pairs, std::back_inserter(found), [role](const Pair& pair) { return pair.is_in(role); });
  return found;
}

ErrorFigures error_figures(const std::vector<Pair>& pairs) {
  ErrorFigures figures;
  figures.rows = static_cast<int>(pairs.size());
  if (pairs.empty()) return figures;
  std::vector<WeighedError> errors = weighed(pairs);
  double total = 0;
  for (const WeighedError& error : errors) total += error.weight;
  figures.signed_pct = weighed_mean(errors, total);
  figures.signed_worst_pct = std::ranges::max_element(errors, {}, [](const WeighedError& each) {
                               return std::abs(each.error_pct);
                             })->error_pct;
  std::ranges::sort(errors, {}, &WeighedError::error_pct);
  figures.signed_median_pct = weighed_quantile(errors, total, kMedianShare);
  for (WeighedError& error : errors) error.error_pct = std::abs(error.error_pct);
  std::ranges::sort(errors, {}, &WeighedError::error_pct);
  figures.mean_abs_pct = weighed_mean(errors, total);
  figures.median_abs_pct = weighed_quantile(errors, total, kMedianShare);
  figures.p90_abs_pct = weighed_quantile(errors, total, kP90Share);
  figures.p95_abs_pct = weighed_quantile(errors, total, kP95Share);
  figures.worst_abs_pct = errors.back().error_pct;
  return figures;
}

ErrorFigures error_figures(const std::vector<Pair>& pairs, const SizeBand& band) {
  std::vector<Pair> inside;
  std::ranges::copy_if(pairs, std::back_inserter(inside), [&](const Pair& pair) { return band.holds(pair.size); });
  return error_figures(inside);
}

BandFigures band_figures(const std::vector<Pair>& pairs) {
  BandFigures figures;
  std::set<std::string_view> groups;
  for (const Pair& pair : pairs) groups.insert(pair.group);
  figures.rows = static_cast<int>(pairs.size());
  figures.groups = static_cast<int>(groups.size());
  std::ranges::transform(kSizeBands, figures.bands.begin(),
                         [&](const SizeBand& band) { return error_figures(pairs, band); });
  return figures;
}

}  // namespace shardsim
