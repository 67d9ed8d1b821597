#include "plan/torchrec/estimate/imbalance.h"

#include <algorithm>
#include <cmath>

namespace shardsim::torchrec {

Imbalance imbalance(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  const auto k = static_cast<double>(values.size());
  Imbalance result;
  for (const double value : values) {
    const double share = value / sum;
    const double distance = std::abs(share - 1.0 / k);
    result.total_variation = std::max(result.total_variation, distance);
    result.total_distance += distance;
    result.chi_raw += distance * distance * k;
    if (share > 0) result.kl_raw += share * std::log(k * share);
  }
  const double others = (k - 1) / k;
  result.chi_most = others * others * k + others;
  result.kl_most = std::log(k);
  return result;
}

}  // namespace shardsim::torchrec
