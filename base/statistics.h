#pragma once

#include <vector>

namespace shardsim {

// Figures of samples. The first four are 0 when there are no samples.

double mean(const std::vector<double>& values);
double median(std::vector<double> values);  // of an even number: the mean of the two in the middle
// Below which `share` of them lie, interpolated linearly between neighbours: quantile 0 is the least, 1 the largest.
double quantile(std::vector<double> values, double share);
// The same without interpolation: one of the values, the nearest by place, of two equally near the larger.
double nearest_quantile(std::vector<double> values, double share);

// Place of each value when all are sorted ascending, from 1; equal values share the mean of their places.
std::vector<double> ranks_of(const std::vector<double>& values);

// The rank correlation of two lists of equal length: 1 for the same order, -1 for the reverse. 0 where one of the lists
// is all ties, or both are shorter than two.
double spearman(const std::vector<double>& a, const std::vector<double>& b);       // Pearson's correlation of the ranks
double kendall_tau_b(const std::vector<double>& a, const std::vector<double>& b);  // pairs, corrected for ties

// Spread of a figure over the iterations of drawn batches, in the unit of the values; the throughput follows from
// `mean`.
struct IterationSpread {
  double mean = 0, median = 0, p5 = 0, p95 = 0;
  double standard_error = 0;  // of the mean: spread / sqrt(number); 0 of a single one
  bool operator==(const IterationSpread&) const = default;
};

IterationSpread iteration_spread(const std::vector<double>& values);  // of none all is 0

}  // namespace shardsim
