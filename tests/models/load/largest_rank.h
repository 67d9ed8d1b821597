#pragma once

#include <cmath>
#include <cstdint>

#include "models/access/normal_quantile.h"
#include "models/load/draws.h"

namespace shardsim {

// Mean and mean square of the largest of n independent standard normals, by quadrature to 1e-9.
struct LargestNormal {
  double mean = 0, mean_square = 1;
};

// The mean of x and x^2 with the density n phi(x) Phi(x)^(n - 1), by the trapezoidal rule, which is as good as exact
// for a smooth function that ends in zeros.
inline LargestNormal largest_normal(int n) {
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

// E max / mean of `ranks` independent totals of `bags` bags each, whose lengths have the given law: right to 2 % of the
// excess over 1 up to a skewness of the total of 0.3, too small beyond.
inline double largest_total(const Cumulants& length, std::int64_t bags, int ranks) {
  const double root = std::sqrt(static_cast<double>(bags)), spread = std::sqrt(length.variance);
  if (!(spread > 0)) return 1;
  const double cv = spread / length.mean / root;
  const double skewness = length.third / (length.variance * spread) / root;
  const LargestNormal largest = largest_normal(ranks);
  return 1 + cv * (largest.mean + skewness * (largest.mean_square - 1) / 6);
}

// E max / mean of what `owners` owners of equal shares get when `ids_per_owner` times as many ids are drawn.
inline double largest_owner(int owners, double ids_per_owner) {
  const LargestNormal largest = largest_normal(owners);
  return 1 + largest.mean / std::sqrt(ids_per_owner) +
         (1 - 2.0 / owners) * (largest.mean_square - 1) / (6 * ids_per_owner);
}

}  // namespace shardsim
