#pragma once

#include <cstdint>

#include "models/load/draws.h"

namespace shardsim {

// Samples that are long in all tables at once: sample a has a factor A = exp(sigma Z - sigma^2 / 2) of mean 1, with Z
// standard normal, and the bags of tables with `common` lengths have the mean A times theirs.
struct SampleFactor {
  double sigma = 0;
  bool operator==(const SampleFactor&) const = default;
};

// Sums over the samples of one rank's batch: of A, A^2, A^3, and how many samples.
struct FactorSums {
  double first = 0, second = 0, third = 0;
  std::int64_t samples = 0;
};

// Drawn; the same for all tables of a batch. `seed` is that of the load.
FactorSums factor_sums(const SampleFactor& factor, std::int64_t samples, std::uint64_t seed, const DrawPoint& at);

}  // namespace shardsim
