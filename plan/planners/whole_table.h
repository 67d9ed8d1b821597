#pragma once

#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// All rows and columns of table number `index` as one placement.
Placement whole_table(const Workload& workload, std::size_t index, Strategy strategy,
                      std::vector<std::vector<int>> holders);

// All ranks as one list, and the ranks of each node as a list of their own.
std::vector<std::vector<int>> world_group(const Cluster& cluster);
std::vector<std::vector<int>> node_groups(const Cluster& cluster);

// Every table whole, under one strategy, by the same ranks.
Plan uniform_plan(const Workload& workload, Strategy strategy, const std::vector<std::vector<int>>& holders,
                  std::uint64_t seed);

}  // namespace shardsim
