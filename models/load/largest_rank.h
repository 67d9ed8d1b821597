#pragma once

#include <cstdint>

#include "models/load/draws.h"

namespace shardsim {

// Mean and mean square of the largest of n independent standard normals, by quadrature to 1e-9.
struct LargestNormal {
  double mean = 0, mean_square = 1;
};
LargestNormal largest_normal(int n);

// E max / mean of `ranks` independent totals of `bags` bags each, whose lengths have the given law: right to 2 % of the
// excess over 1 up to a skewness of the total of 0.3, too small beyond.
double largest_total(const Cumulants& length, std::int64_t bags, int ranks);

// E max / mean of what `owners` owners of equal shares get when `ids_per_owner` times as many ids are drawn.
double largest_owner(int owners, double ids_per_owner);

}  // namespace shardsim
