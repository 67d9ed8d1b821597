#pragma once

#include <vector>

namespace shardsim {

// Spread of a figure over the iterations of drawn batches, in the unit of the values; the throughput follows from
// `mean`.
struct IterationSpread {
  double mean = 0, median = 0, p5 = 0, p95 = 0;
  double standard_error = 0;  // of the mean: spread / sqrt(number); 0 of a single one
  bool operator==(const IterationSpread&) const = default;
};

IterationSpread iteration_spread(const std::vector<double>& values);  // of none all is 0

}  // namespace shardsim
