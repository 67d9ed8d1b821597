#include "plan/planners/steps.h"

#include <algorithm>

#include "models/compute/gpus/kernel_family.h"
#include "models/compute/learned_model.h"

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

std::int64_t columns_together(const PlannerHost& host) {
  constexpr std::int64_t kOfKernels = 4;
  const std::string kernels = host.kernels();
  const std::vector<std::string> by_table = table_kernel_names();
  const bool in_groups = kernels == kLearnedModel || std::ranges::find(by_table, kernels) != by_table.end();
  return in_groups ? kOfKernels : 1;
}

std::vector<ColumnSlice> column_slices(std::int64_t dim, std::int64_t min_partition, std::int64_t most,
                                       std::int64_t together) {
  const std::int64_t group = dim % together == 0 ? together : 1, groups = dim / group;
  const std::int64_t least = (min_partition + group - 1) / group;
  const std::int64_t count = std::clamp<std::int64_t>(groups / least, 1, most);
  std::vector<ColumnSlice> slices;
  std::int64_t begin = 0;
  for (std::int64_t slice = 0; slice < count; ++slice) {
    const std::int64_t end = begin + group * (groups / count + (slice < groups % count ? 1 : 0));
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
