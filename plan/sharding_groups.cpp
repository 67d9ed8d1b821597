#include "plan/sharding_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace shardsim {
namespace {

// GPUs of a group on each node that it has some on, and how many such nodes; 0 where they lie unevenly.
struct GroupShape {
  int nodes = 0, gpus = 0;
};

GroupShape shape_of(const ShardingGroups& groups, int count, const Cluster& world) {
  const int size = static_cast<int>(groups.size), per_node = world.ranks_per_node();
  if (groups.consecutive) {
    if (size % per_node == 0) return {size / per_node, per_node};
    return per_node % size == 0 ? GroupShape{1, size} : GroupShape{};
  }
  if (per_node % count == 0) return {world.nodes(), per_node / count};
  return count % per_node == 0 ? GroupShape{size, 1} : GroupShape{};
}

void keep_wiring(ClusterSpec& spec, int gpus) {
  std::erase_if(spec.nvlink.pairs, [&](const NvlinkSpec::Pair& pair) { return pair.a >= gpus || pair.b >= gpus; });
  if (spec.nvlink.kind == NvlinkKind::mesh && spec.nvlink.pairs.empty()) spec.nvlink.kind = NvlinkKind::none;
  spec.nvlink.domain = 0;
  spec.gpus_per_host = 0;
  spec.graph_one_node = spec.graph_multi_node = std::nullopt;
  spec.faults.clear();
}

// NICs that several groups share give each group its part of their rate.
void keep_nics(ClusterSpec& spec, int gpus, int old_gpus) {
  if (!spec.nics || spec.nics->per_gpu > 0) return;
  NicSpec& nics = *spec.nics;
  const int all = nics.of_node(old_gpus), kept = std::clamp(all * gpus / old_gpus, 1, gpus);
  const double each = static_cast<double>(all) * gpus / old_gpus / kept;
  if (!nics.hardware_rate) nics.hardware_rate = nics.rate;
  nics.rate = each * nics.rate;
  nics.shared_by = 0;
  nics.per_node = kept;
}

ClusterSpec spec_of(const GroupShape& shape, const ClusterSpec& world) {
  ClusterSpec spec = world;
  spec.nodes = shape.nodes;
  if (shape.gpus == world.gpu.count) return spec;
  spec.gpu.count = shape.gpus;
  keep_wiring(spec, shape.gpus);
  keep_nics(spec, shape.gpus, world.gpu.count);
  spec.pcie.tree = short_pcie_tree(shape.gpus, spec.nics, spec.pcie.sockets);
  spec.pcie.is_tree_short = true;
  if (spec.host.memory) spec.host.memory = Bytes{spec.host.memory->count * shape.gpus / world.gpu.count};
  return spec;
}

std::shared_ptr<const Cluster> cluster_of_group(const ShardingGroups& groups, int count, const Cluster& world) {
  const GroupShape shape = shape_of(groups, count, world);
  if (shape.gpus > 0) return std::make_shared<const Cluster>(spec_of(shape, world.spec()));
  throw input_error(groups.place,
                    fmt::format("{} sharding groups of {} ranks lie unevenly on nodes of {} GPUs", count, groups.size,
                                world.ranks_per_node()),
                    groups.consecutive ? "Choose a 'size' that is a multiple or a divisor of the GPUs of a node"
                                       : "Choose a 'size' by which the number of groups is a multiple or a divisor of "
                                         "the GPUs of a node, or write members: consecutive");
}

}  // namespace

std::optional<Error> refused_in_groups(const Placement& placement, const Workload& workload) {
  const Place& place = workload.sharding_groups->place;
  const std::string& table = workload.tables[static_cast<std::size_t>(placement.table)].name;
  if (placement.strategy == Strategy::flex)
    return input_error(place, fmt::format("table '{}' is flex, whose rows have replica groups of their own", table),
                       "Choose one of TorchRec's sharding types (constraints: {\"*\": {torchrec_only: true}} keeps a "
                       "planner to them), or leave 'sharding_groups' out");
  const bool is_dense = placement.compute_kernel == "dense" && !replicated(placement.strategy);
  if (is_dense && workload.sharding_groups->fully_sharded)
    return input_error(place,
                       fmt::format("table '{}' has the compute kernel dense, and TorchRec's fully sharded tables are "
                                   "of the kernel fused",
                                   table),
                       "Choose the kernel fused, or leave 'strategy' out");
  if (on_host(placement) || in_key_value_store(placement.compute_kernel))
    return input_error(
        place,
        fmt::format("rows of table '{}' lie with the host ({}), and what TorchRec averages of such rows is {}", table,
                    placement.compute_kernel,
                    has_cache(placement.compute_kernel) ? "what the host has, without the newer rows of the caches"
                                                        : "not simulated: an all-reduce over the links of the hosts"),
        "Choose the kernel fused, or leave 'sharding_groups' out");
  return std::nullopt;
}

std::optional<GroupedWorld> GroupedWorld::of(const Workload& workload, const Cluster& cluster) {
  if (!workload.sharding_groups || workload.sharding_groups->size == cluster.world_size()) return std::nullopt;
  const ShardingGroups& groups = *workload.sharding_groups;
  if (groups.size < cluster.world_size() && cluster.world_size() % groups.size == 0)
    return GroupedWorld(groups, cluster);
  throw input_error(
      groups.place,
      fmt::format("sharding groups of {} ranks do not divide the world of {}", groups.size, cluster.world_size()),
      "Choose a 'size' that divides the number of ranks, or leave 'sharding_groups' out");
}

GroupedWorld::GroupedWorld(const ShardingGroups& groups, const Cluster& world)
    : size_(static_cast<int>(groups.size)),
      groups_(world.world_size() / size_),
      consecutive_(groups.consecutive),
      cluster_(cluster_of_group(groups, groups_, world)) {}

std::vector<std::vector<int>> GroupedWorld::sharding_sets() const {
  std::vector<std::vector<int>> sets(static_cast<std::size_t>(groups_));
  for (int group = 0; group < groups_; ++group)
    for (int each = 0; each < size_; ++each) sets[static_cast<std::size_t>(group)].push_back(rank(group, each));
  return sets;
}

std::vector<std::vector<int>> GroupedWorld::replica_sets() const {
  std::vector<std::vector<int>> sets(static_cast<std::size_t>(size_));
  for (int each = 0; each < size_; ++each)
    for (int group = 0; group < groups_; ++group) sets[static_cast<std::size_t>(each)].push_back(rank(group, each));
  return sets;
}

bool GroupedWorld::has(const Plan& plan) const {
  return std::ranges::all_of(plan.placements, [&](const Placement& placement) {
    return placement.strategy == Strategy::data_parallel || static_cast<int>(placement.holders.size()) == groups_;
  });
}

Plan GroupedWorld::of_world(const Plan& of_group) const {
  Plan plan = of_group;
  for (Placement& placement : plan.placements) {
    if (placement.strategy == Strategy::data_parallel) {
      placement.holders = {all_ranks(size_ * groups_)};
      continue;
    }
    const std::vector<std::vector<int>> sets = std::move(placement.holders);
    placement.holders.clear();
    for (int group = 0; group < groups_; ++group) {
      std::vector<int>& holders = placement.holders.emplace_back();
      for (const int each : sets.front()) holders.push_back(rank(group, each));
    }
  }
  return plan;
}

Placement GroupedWorld::of_group(const Placement& of_world) const {
  Placement placement = of_world;
  if (placement.strategy == Strategy::data_parallel) {
    placement.holders = {all_ranks(size_)};
    return placement;
  }
  placement.holders = {of_world.holders.front()};
  for (int& holder : placement.holders.front()) holder = position(holder);
  return placement;
}

Plan GroupedWorld::of_group(const Plan& of_world) const {
  Plan plan = of_world;
  for (Placement& placement : plan.placements) placement = of_group(placement);
  return plan;
}

}  // namespace shardsim
