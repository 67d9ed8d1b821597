#pragma once

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "plan/torchrec/search/partitioner.h"

namespace shardsim::torchrec {

Strategy strategy_of(ShardingType type);

// The plan that an assignment means. `order[i]` is the place in the workload of table i of the search space.
Plan plan_of(const std::vector<ShardingOption>& options, const Assignment& assignment, const SearchSpace& space,
             const std::vector<std::size_t>& order, std::uint64_t seed);

}  // namespace shardsim::torchrec
