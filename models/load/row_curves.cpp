#include "models/load/row_curves.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardsim {
namespace {

constexpr std::size_t kMostKept = 6;

}  // namespace

double chance_to_meet(double share, double draws) {
  return -std::expm1(draws * std::log1p(-std::min(share, 1.0)));
}

RowCurves::Curve RowCurves::known(const RowLaw& law, std::uint64_t rows, double draws) {
  const auto found = std::ranges::find_if(
      kept_, [&](const Kept& each) { return each.draws == draws && each.curve->size() >= rows && each.law == law; });
  if (found == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), found, std::next(found));
  return kept_.front().curve;
}

RowCurves::Curve RowCurves::keep(const RowLaw& law, double draws, std::vector<double> curve) {
  if (kept_.size() == kMostKept) kept_.pop_back();
  kept_.insert(kept_.begin(), {law, draws, std::make_shared<const std::vector<double>>(std::move(curve))});
  return kept_.front().curve;
}

RowCurves::Curve RowCurves::probabilities(const RowLaw& law, std::uint64_t rows) {
  if (Curve curve = known(law, rows, 0)) return curve;
  std::vector<double> p(rows);
  for (std::uint64_t x = 0; x < rows; ++x) p[x] = law.probability(x);
  return keep(law, 0, std::move(p));
}

RowCurves::Curve RowCurves::met(const RowLaw& law, std::uint64_t rows, double draws) {
  if (Curve curve = known(law, rows, draws)) return curve;
  const Curve p = probabilities(law, rows);
  std::vector<double> chances(rows);
  for (std::uint64_t x = 0; x < rows; ++x) chances[x] = chance_to_meet((*p)[x] / law.total(), draws);
  return keep(law, draws, std::move(chances));
}

}  // namespace shardsim
