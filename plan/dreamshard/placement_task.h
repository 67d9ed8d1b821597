#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plan/autoshard/sharding_task.h"

namespace shardsim {

// The seconds of one placement of whole tables, as DreamShard measures it (Zha et al., NeurIPS 2022).
struct PlacementCosts {
  std::vector<double> forward, backward;  // by rank: lookups; gradients and updates
  std::vector<double> exchange;           // by rank: the exchanges of its own tables' vectors and gradients, alone
  double all = 0;                         // the slowest rank and the exchanges of all
};

// Tables to be dealt whole over ranks so that computation and exchanges together are short.
struct PlacementTask : ShardingTask {
  // May hold on to what the task was made of.
  std::function<PlacementCosts(std::span<const int> rank_of)> measure;
  std::function<double(std::span<const int> rank_of)> measure_all;  // PlacementCosts::all, for less than all of them
};

// As sharding_task(), by the same providers.
PlacementTask placement_task(const Workload& workload, const Cluster& cluster, const PlannerContext& context,
                             const std::string& provider);

}  // namespace shardsim
