#include "models/load/row_curves.h"

#include <algorithm>
#include <cmath>

namespace shardsim {
namespace {

constexpr std::size_t kMostCurveNumbers = std::size_t{1} << 22;  // 32 MB: the draws of a model of 340 tables
constexpr std::size_t kMostLaws = 512;
constexpr std::size_t kMostCurvesOfLaw = 4;  // two of draws: a lowering may ask for a tenth more
// In place of draws: the logarithm of the chance that a lookup is of another row, which other draws need again.
constexpr double kLogMissed = -1;

std::size_t numbers_of(const std::vector<std::pair<double, RowCurves::Curve>>& curves) {
  std::size_t numbers = 0;
  for (const auto& [draws, curve] : curves) numbers += curve->size();
  return numbers;
}

double log_missed(double share) {
  return std::log1p(-std::min(share, 1.0));
}

}  // namespace

double chance_to_meet(double share, double draws) {
  return -std::expm1(draws * log_missed(share));
}

RowCurves::Kept& RowCurves::of(const RowLaw& law) {
  const auto found = std::ranges::find(kept_, law, &Kept::law);
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front();
  }
  while (!kept_.empty() && (kept_.size() >= kMostLaws || numbers_ > kMostCurveNumbers)) {
    numbers_ -= numbers_of(kept_.back().curves);
    kept_.pop_back();
  }
  return kept_.emplace_front(Kept{law});
}

RowCurves::Curve RowCurves::known(const RowLaw& law, std::uint64_t rows, double draws) {
  const std::vector<std::pair<double, Curve>>& curves = of(law).curves;
  const auto serves = [&](const auto& each) { return each.first == draws && each.second->size() >= rows; };
  const auto found = std::ranges::find_if(curves, serves);
  return found == curves.end() ? nullptr : found->second;
}

RowCurves::Curve RowCurves::keep(const RowLaw& law, double draws, std::vector<double> curve) {
  std::vector<std::pair<double, Curve>>& curves = of(law).curves;
  numbers_ -= numbers_of(curves);
  std::erase_if(curves, [&](const auto& each) { return each.first == draws; });  // which is shorter
  if (curves.size() == kMostCurvesOfLaw) curves.erase(curves.begin());
  curves.emplace_back(draws, std::make_shared<const std::vector<double>>(std::move(curve)));
  numbers_ += numbers_of(curves);
  return curves.back().second;
}

RowCurves::Curve RowCurves::probabilities(const RowLaw& law, std::uint64_t rows) {
  if (Curve curve = known(law, rows, 0)) return curve;
  std::vector<double> p(rows);
  for (std::uint64_t x = 0; x < rows; ++x) p[x] = law.probability(x);
  return keep(law, 0, std::move(p));
}

RowCurves::Curve RowCurves::met(const RowLaw& law, std::uint64_t rows, double draws) {
  if (Curve curve = known(law, rows, draws)) return curve;
  Curve missed = known(law, rows, kLogMissed);
  if (!missed) {
    const Curve p = probabilities(law, rows);
    std::vector<double> logs(rows);
    for (std::uint64_t x = 0; x < rows; ++x) logs[x] = log_missed((*p)[x] / law.total());
    missed = keep(law, kLogMissed, std::move(logs));
  }
  std::vector<double> chances(rows);
  for (std::uint64_t x = 0; x < rows; ++x) chances[x] = -std::expm1(draws * (*missed)[x]);
  return keep(law, draws, std::move(chances));
}

double RowCurves::met_behind(const RowLaw& law, std::uint64_t first, double draws) {
  const auto [known, is_new] = of(law).behind.try_emplace({first, draws});
  if (!is_new) return known->second;
  const double share = law.sum(first, law.rows()) / law.total();
  return known->second = law.expected_distinct(first, law.rows(), draws * share);
}

std::uint64_t RowCurves::head(const RowLaw& law, int owners, std::uint64_t most,
                              const std::function<std::uint64_t()>& count) {
  const auto [known, is_new] = of(law).heads.try_emplace({owners, most});
  if (is_new) known->second = count();
  return known->second;
}

}  // namespace shardsim
