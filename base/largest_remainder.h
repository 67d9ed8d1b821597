#pragma once

#include <cstdint>
#include <vector>

namespace shardsim {

// `total` split over `weights` in whole units, by largest remainder; ties to the lower index. Weights that add up to 0
// count as equal ones.
std::vector<std::int64_t> split_by_largest_remainder(std::int64_t total, const std::vector<double>& weights);

}  // namespace shardsim
