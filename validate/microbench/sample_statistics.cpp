#include "validate/microbench/sample_statistics.h"

#include <algorithm>

#include "base/statistics.h"

namespace shardsim {

SampleStatistics sample_statistics(std::vector<double> samples) {
  if (samples.empty()) return {};
  return {median(samples), quantile(samples, 0.1), quantile(samples, 0.9), std::ranges::min(samples)};
}

}  // namespace shardsim
