#include "validate/microbench/sample_statistics.h"

#include <algorithm>
#include <cmath>

namespace shardsim {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

SampleStatistics sample_statistics(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  return {quantile(samples, 0.5), quantile(samples, 0.1), quantile(samples, 0.9), samples.front()};
}

}  // namespace shardsim
