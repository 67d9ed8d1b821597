#pragma once

#include <vector>

#include "plan/torchrec/search/partitioner.h"

namespace shardsim::torchrec {

// Options that must be placed together: those of one dependency, else a single one.
struct OptionGroup {
  std::vector<std::size_t> options;  // positions in the proposal
  Storage storage;
  double perf = 0;         // ms over all shards
  int module_options = 0;  // how many options the first one's module has
};

// All but the evenly spread ones, in the order in which they are placed: largest first, equal ones in the proposal's
// order.
std::vector<OptionGroup> option_groups(const Proposal& proposal, const SearchSpace& space,
                                       const PartitionerSettings& settings);

}  // namespace shardsim::torchrec
