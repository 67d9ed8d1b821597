#include "models/load/sample_factor.h"

#include <cmath>

#include "models/access/normal_quantile.h"

namespace shardsim {

FactorSums factor_sums(const SampleFactor& factor, std::int64_t samples, std::uint64_t seed, const DrawPoint& at) {
  const UniformStream u("", seed, kFactorDraws, at);
  const double sigma = factor.sigma;
  FactorSums sums{0, 0, 0, samples};
  for (std::int64_t a = 0; a < samples; ++a) {
    const double value = std::exp(sigma * normal_quantile(u(static_cast<std::uint64_t>(a))) - sigma * sigma / 2);
    sums.first += value;
    sums.second += value * value;
    sums.third += value * value * value;
  }
  return sums;
}

}  // namespace shardsim
