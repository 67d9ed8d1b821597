#pragma once

#include <cstddef>
#include <vector>

namespace shardsim {

// One unit of traffic that may be split over several ways; each way loads the links it names.
struct SplitDemand {
  std::vector<std::vector<std::size_t>> ways;
};

// Shares of each demand's ways (they add up to 1) for which the fullest link, load over capacity, is as empty as
// possible; `load` is what the links carry already. An exact linear programme, the same for the same input.
std::vector<std::vector<double>> balanced_shares(const std::vector<double>& capacity, const std::vector<double>& load,
                                                 const std::vector<SplitDemand>& demands);

}  // namespace shardsim
