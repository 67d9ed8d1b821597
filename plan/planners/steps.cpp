#include "plan/planners/steps.h"

#include <algorithm>

namespace shardsim {

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
    plan.placements.push_back(whole_table(static_cast<int>(t), workload.tables[t], strategy, holders));
  }
  return plan;
}

std::vector<ColumnSlice> column_slices(std::int64_t dim, std::int64_t min_partition, std::int64_t most) {
  const std::int64_t count = std::clamp<std::int64_t>(dim / min_partition, 1, most);
  std::vector<ColumnSlice> slices;
  std::int64_t begin = 0;
  for (std::int64_t slice = 0; slice < count; ++slice) {
    const std::int64_t end = begin + dim / count + (slice < dim % count ? 1 : 0);
    slices.push_back({begin, end});
    begin = end;
  }
  return slices;
}

void add_slice(Plan& plan, const Workload& workload, std::size_t index, Strategy strategy, std::vector<int> holders,
               const ColumnSlice& slice) {
  Placement placement = whole_table(static_cast<int>(index), workload.tables[index], strategy, {std::move(holders)});
  placement.column_begin = slice.begin;
  placement.column_end = slice.end;
  plan.placements.push_back(std::move(placement));
}

}  // namespace shardsim
