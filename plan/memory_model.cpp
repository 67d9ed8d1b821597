#include "plan/memory_model.h"

#include <algorithm>
#include <cmath>

#include "plan/sharding_groups.h"

namespace shardsim {
namespace {

constexpr double kMostBytes = 0x1.0p62;  // keeps sums of bytes inside 64 bits, however absurd the workload

}  // namespace

PlacementMemory MemoryModel::on_rank(const Placement& placement, int rank, const Workload& workload,
                                     const Cluster& cluster) const {
  return on_ranks(placement, workload, cluster).at(static_cast<std::size_t>(rank));
}

CostParameters MemoryModel::cost_parameters(const Workload& workload, const Cluster& cluster) const {
  CostParameters cost;
  cost.batch = static_cast<double>(workload.batch_per_gpu);
  cost.world = cluster.world_size();
  cost.per_node = cluster.ranks_per_node();
  set_copies(cost);
  return cost;
}

PlacementMemory& PlacementMemory::operator+=(const PlacementMemory& other) {
  static_bytes += other.static_bytes;
  dynamic_bytes += other.dynamic_bytes;
  host_bytes += other.host_bytes;
  optimizer_bytes += other.optimizer_bytes;
  cache_bytes += other.cache_bytes;
  return *this;
}

PlacementMemory memory_on_rank(const Plan& plan, int rank, const Workload& workload, const Cluster& cluster,
                               const MemoryModel& model) {
  if (const auto groups = GroupedWorld::of(workload, cluster))
    return memory_on_rank(groups->of_group(plan), groups->position(rank), workload, groups->cluster(), model);
  PlacementMemory sum;
  for (const Placement& placement : plan.placements) sum += model.on_rank(placement, rank, workload, cluster);
  return sum;
}

std::vector<std::int64_t> memory_per_rank(const Plan& plan, const Workload& workload, const Cluster& cluster,
                                          const MemoryModel& model) {
  if (const auto groups = GroupedWorld::of(workload, cluster))
    return groups->of_ranks(memory_per_rank(groups->of_group(plan), workload, groups->cluster(), model));
  std::vector<double> sums(static_cast<std::size_t>(cluster.world_size()), 0.0);
  for (const Placement& placement : plan.placements) {
    const std::vector<PlacementMemory> memory = model.on_ranks(placement, workload, cluster);
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      sums[rank] += memory[rank].static_bytes + memory[rank].dynamic_bytes;
    }
  }
  std::vector<std::int64_t> bytes;
  for (const double sum : sums) bytes.push_back(static_cast<std::int64_t>(std::ceil(std::min(sum, kMostBytes))));
  return bytes;
}

}  // namespace shardsim
