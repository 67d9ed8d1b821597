#include "models/load/largest_rank.h"

#include <cmath>

#include "models/access/normal_quantile.h"

namespace shardsim {

// The mean of x and x^2 with the density n phi(x) Phi(x)^(n - 1), by the trapezoidal rule, which is as good as exact
// for a smooth function that ends in zeros.
LargestNormal largest_normal(int n) {
  constexpr double kEnd = 12, kStep = 1.0 / 128;
  LargestNormal sum{0, 0};
  for (int i = 0; i <= 2 * static_cast<int>(kEnd / kStep); ++i) {
    const double x = -kEnd + i * kStep;
    const double weight = kStep * n * normal_density(x) * std::pow(upper_tail(-x), n - 1);
    sum.mean += weight * x;
    sum.mean_square += weight * x * x;
  }
  return sum;
}

double largest_total(const Cumulants& length, std::int64_t bags, int ranks) {
  const double root = std::sqrt(static_cast<double>(bags)), spread = std::sqrt(length.variance);
  if (!(spread > 0)) return 1;
  const double cv = spread / length.mean / root;
  const double skewness = length.third / (length.variance * spread) / root;
  const LargestNormal largest = largest_normal(ranks);
  return 1 + cv * (largest.mean + skewness * (largest.mean_square - 1) / 6);
}

double largest_owner(int owners, double ids_per_owner) {
  const LargestNormal largest = largest_normal(owners);
  return 1 + largest.mean / std::sqrt(ids_per_owner) +
         (1 - 2.0 / owners) * (largest.mean_square - 1) / (6 * ids_per_owner);
}

}  // namespace shardsim
