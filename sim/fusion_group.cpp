#include "sim/fusion_group.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace shardsim {
namespace {

struct StrategyOrder {
  Strategy strategy;
  const char* prefix;
  const char* group;
};
constexpr StrategyOrder kOrder[] = {
    {Strategy::data_parallel, "dp", ""},    {Strategy::flex, "flex", "node"},      {Strategy::row_wise, "rw", "world"},
    {Strategy::column_wise, "cw", "world"}, {Strategy::table_wise, "tw", "world"},
};

// One placement with what its sizes follow from.
struct Member {
  const Placement* placement = nullptr;
  const Table* table = nullptr;
  AccessDistribution access;
  std::int64_t items = 0;          // n: ids of one rank in these rows
  std::int64_t row_bytes = 0;      // of its columns
  std::int64_t forward_bytes = 0;  // of one row on the wire
  std::int64_t backward_bytes = 0;
};

Member make_member(const Placement& placement, const Workload& workload, bool observed) {
  const Table& table = workload.tables[placement.table];
  Member member{&placement, &table, table.distribution(), 0, 0, 0, 0};
  member.items = items_per_rank(placement, workload, member.access, observed);
  const std::int64_t columns = placement.columns();
  member.row_bytes = columns * dtype_bytes(table.dtype);
  member.forward_bytes = columns * dtype_bytes(workload.wire_forward.value_or(table.dtype));
  member.backward_bytes = columns * dtype_bytes(workload.wire_backward.value_or(table.dtype));
  return member;
}

// How the items of one source spread over the positions of the exchange group.
std::vector<std::int64_t> items_by_owner(const Member& member, int group_size) {
  const Placement& placement = *member.placement;
  std::vector<std::int64_t> items(group_size, 0);
  if (placement.strategy == Strategy::flex) {
    return split_by_largest_remainder(member.items, std::vector<double>(group_size, 1.0));
  }
  const std::vector<int>& owners = placement.holders.front();
  const auto parts = split_by_largest_remainder(member.items, std::vector<double>(owners.size(), 1.0));
  for (std::size_t shard = 0; shard < owners.size(); ++shard) items[owners[shard]] += parts[shard];
  return items;
}

bool spread_evenly(const Member& member, int group_size) {
  const Placement& placement = *member.placement;
  if (placement.strategy == Strategy::flex) return true;
  return placement.strategy == Strategy::row_wise && static_cast<int>(placement.holders.front().size()) == group_size;
}

// Sizes of several tables in one matrix: in units of the greatest common divisor of their unit sizes.
ByteMatrix exchange_matrix(const std::vector<Member>& members, int group_size, std::int64_t Member::*unit_bytes,
                           std::int64_t fixed_unit) {
  const auto unit = [&](const Member& member) { return unit_bytes ? member.*unit_bytes : fixed_unit; };
  ByteMatrix matrix;
  matrix.unit_bytes = 0;
  for (const Member& member : members) matrix.unit_bytes = std::gcd(matrix.unit_bytes, unit(member));
  const bool even =
      std::all_of(members.begin(), members.end(), [&](const Member& m) { return spread_evenly(m, group_size); });
  matrix.kind = even ? ByteMatrix::Kind::even : ByteMatrix::Kind::by_destination;
  matrix.units.assign(even ? 1 : group_size, 0);
  for (const Member& member : members) {
    const std::int64_t factor = unit(member) / matrix.unit_bytes;
    if (even) {
      matrix.units[0] += member.items * factor;
      continue;
    }
    const auto items = items_by_owner(member, group_size);
    for (int owner = 0; owner < group_size; ++owner) matrix.units[owner] += items[owner] * factor;
  }
  return matrix;
}

// Ranks whose ids a holder serves: itself (DP), its node (flex), everyone.
int sources(Strategy strategy, int group_size) {
  return strategy == Strategy::data_parallel ? 1 : group_size;
}

// Share of the placement's lookups that each rank of the world serves, per source.
std::vector<double> served(const Member& member, int group_size, int world) {
  const Placement& placement = *member.placement;
  std::vector<double> items(world, 0.0);
  if (placement.strategy == Strategy::data_parallel)
    return std::vector<double>(world, static_cast<double>(member.items));
  if (placement.strategy == Strategy::flex) {
    return std::vector<double>(world, static_cast<double>(member.items) / group_size);
  }
  const double each = static_cast<double>(member.items) / static_cast<double>(placement.holders.front().size());
  for (int rank : placement.holders.front()) items[rank] += each;
  return items;
}

// HBM bytes of forward and backward and the rows they touch (docs/lowering.md, "Bytes in device memory").
void add_compute(FusionGroup& fused, const Member& member, const Workload& workload, int group_size, int world) {
  const auto row = static_cast<double>(member.row_bytes);
  const auto state = static_cast<double>(optimizer_row_bytes(workload.optimizer, member.placement->columns()));
  const std::vector<double> each = served(member, group_size, world);
  const int from = sources(fused.strategy, group_size);
  const double draws = static_cast<double>(member.items) * from;
  const double distinct =
      member.access.expected_distinct(member.placement->row_begin, member.placement->row_end, draws);
  for (int rank = 0; rank < world; ++rank) {
    const double lookups = each[rank] * from;
    const double touched = draws > 0 ? distinct * lookups / draws : 0;
    const double per_row = replicated(fused.strategy) ? row : 2 * row + 2 * state;
    fused.lookups[rank] += lookups;
    fused.lookup_bytes[rank] += 2 * row * lookups;
    fused.gradient_bytes[rank] += row * lookups + per_row * touched;
    fused.distinct_rows[rank] += touched;
  }
  fused.own_rows += static_cast<double>(member.items);
  fused.own_bytes += row * static_cast<double>(member.items);
}

void add_replicas(FusionGroup& fused, const Member& member, const Workload& workload) {
  if (!replicated(fused.strategy)) return;
  const std::uint64_t rows = member.placement->shard_rows(0);  // the largest shard, on every rank
  const std::int64_t bytes = static_cast<std::int64_t>(rows) * member.row_bytes;
  const std::int64_t state = optimizer_row_bytes(workload.optimizer, member.placement->columns());
  fused.replicated_bytes += bytes;
  fused.replicated_rows += static_cast<double>(rows);
  fused.apply_bytes += 3.0 * static_cast<double>(bytes) + 2.0 * static_cast<double>(rows) * static_cast<double>(state);
}

void collapse(std::vector<double>& per_rank) {
  if (std::adjacent_find(per_rank.begin(), per_rank.end(), std::not_equal_to<>()) == per_rank.end()) per_rank.resize(1);
}

FusionGroup fuse_strategy(const StrategyOrder& order, const std::vector<Member>& members, const Workload& workload,
                          const Cluster& cluster) {
  const int world = cluster.world_size();
  FusionGroup fused;
  fused.strategy = order.strategy;
  fused.prefix = order.prefix;
  const int group_size =
      order.strategy == Strategy::flex ? static_cast<int>(members.front().placement->holders.front().size()) : world;
  fused.group = group_size > 1 ? order.group : "";
  for (auto* column : {&fused.lookups, &fused.lookup_bytes, &fused.gradient_bytes, &fused.distinct_rows}) {
    column->assign(world, 0.0);
  }
  for (const Member& member : members) {
    add_compute(fused, member, workload, group_size, world);
    add_replicas(fused, member, workload);
  }
  for (auto* column : {&fused.lookups, &fused.lookup_bytes, &fused.gradient_bytes, &fused.distinct_rows}) {
    collapse(*column);
  }
  if (!fused.exchanges()) return fused;
  fused.ids = exchange_matrix(members, group_size, nullptr, workload.id_bytes);
  fused.gradients = exchange_matrix(members, group_size, &Member::backward_bytes, 0);
  fused.rows_by_source = exchange_matrix(members, group_size, &Member::forward_bytes, 0);
  return fused;
}

}  // namespace

std::int64_t items_per_rank(const Placement& placement, const Workload& workload, const AccessDistribution& access,
                            bool observed_payload) {
  const Table& table = workload.tables[placement.table];
  const double per_sample = observed_payload && table.runtime
                                ? table.runtime->sum(access, placement.row_begin, placement.row_end)
                                : access.sum(placement.row_begin, placement.row_end);
  return static_cast<std::int64_t>(std::floor(static_cast<double>(workload.batch_per_gpu) * per_sample + 0.5));
}

std::vector<FusionGroup> fuse(const Plan& plan, const Workload& workload, const Cluster& cluster,
                              const LoweringOptions& options) {
  std::vector<FusionGroup> groups;
  for (const StrategyOrder& order : kOrder) {
    std::vector<Member> members;
    std::vector<int> shards;
    for (std::size_t index = 0; index < plan.placements.size(); ++index) {
      if (plan.placements[index].strategy != order.strategy) continue;
      members.push_back(make_member(plan.placements[index], workload, options.observed_payload));
      shards.push_back(static_cast<int>(index));
    }
    if (members.empty()) continue;
    groups.push_back(fuse_strategy(order, members, workload, cluster));
    groups.back().shards = shards;
  }
  return groups;
}

}  // namespace shardsim
