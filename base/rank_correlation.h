#pragma once

#include <vector>

namespace shardsim {

// Place of each value when all are sorted ascending, from 1; equal values share the mean of their places.
std::vector<double> ranks_of(const std::vector<double>& values);

// How far two lists of equal length order their items alike: 1 the same order, -1 the reverse. 0 where one of the lists
// is all ties, or both are shorter than two.
double spearman(const std::vector<double>& a, const std::vector<double>& b);       // Pearson's correlation of the ranks
double kendall_tau_b(const std::vector<double>& a, const std::vector<double>& b);  // pairs, corrected for ties

}  // namespace shardsim
