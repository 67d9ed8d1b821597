#include "plan/planners/whole_table.h"

#include <utility>

namespace shardsim {

Placement whole_table(const Workload& workload, std::size_t index, Strategy strategy,
                      std::vector<std::vector<int>> holders) {
  const Table& table = workload.tables[index];
  Placement placement;
  placement.table = static_cast<int>(index);
  placement.row_end = table.rows;
  placement.column_end = table.dim;
  placement.strategy = strategy;
  placement.holders = std::move(holders);
  placement.compute_kernel = default_kernel(strategy);
  return placement;
}

std::vector<std::vector<int>> world_group(const Cluster& cluster) {
  return {all_ranks(cluster.world_size())};
}

std::vector<std::vector<int>> node_groups(const Cluster& cluster) {
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(cluster.nodes()));
  for (int rank = 0; rank < cluster.world_size(); ++rank) {
    groups[static_cast<std::size_t>(cluster.node_of(rank))].push_back(rank);
  }
  return groups;
}

Plan uniform_plan(const Workload& workload, Strategy strategy, const std::vector<std::vector<int>>& holders,
                  std::uint64_t seed) {
  Plan plan;
  plan.hash_seed = seed;
  for (std::size_t t = 0; t < workload.tables.size(); ++t) {
    plan.placements.push_back(whole_table(workload, t, strategy, holders));
  }
  return plan;
}

}  // namespace shardsim
