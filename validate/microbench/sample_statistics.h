#pragma once

#include <vector>

namespace shardsim {

// What repeated times come to; quantiles interpolate linearly between neighbours. Empty input gives zeros.
struct SampleStatistics {
  double median = 0, p10 = 0, p90 = 0, min = 0;
  double spread() const { return median > 0 ? (p90 - p10) / median : 0; }
};

SampleStatistics sample_statistics(std::vector<double> samples);

}  // namespace shardsim
