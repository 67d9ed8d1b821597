#include "models/load/iteration_spread.h"

#include <cmath>
#include <numeric>

#include "base/statistics.h"

namespace shardsim {

IterationSpread iteration_spread(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double error = values.size() > 1 ? std::sqrt(squares / (n - 1) / n) : 0;
  return {mean, quantile(values, 0.5), quantile(values, 0.05), quantile(values, 0.95), error};
}

}  // namespace shardsim
