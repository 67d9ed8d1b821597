#include "sim/lower/group_copies.h"

#include <algorithm>
#include <utility>

namespace shardsim {
namespace {

class GroupCopies {
 public:
  GroupCopies(Program program, const GroupedWorld& world) : program_(std::move(program)), world_(world) {}

  Program take(int ranks_per_node) {
    for (Program::Shard& shard : program_.shards) copy(shard);
    for (Op& op : program_.ops) copy(op);
    copy_groups();
    program_.world_size = world_.size() * world_.groups();
    program_.ranks_per_node = ranks_per_node;
    return std::move(program_);
  }

 private:
  // Rows that every rank has are one set of holders.
  void copy(Program::Shard& shard) const {
    if (shard.strategy != Strategy::data_parallel) return copy(shard.holders);
    shard.holders = {all_ranks(world_.size() * world_.groups())};
    if (!shard.lookups.empty()) shard.lookups.assign(shard.holders.front().size(), shard.lookups.front());
  }

  // Every set of positions, of each group in turn.
  void copy(std::vector<std::vector<int>>& sets) const {
    const std::vector<std::vector<int>> of_one = std::move(sets);
    sets.clear();
    for (int group = 0; group < world_.groups(); ++group) {
      for (const std::vector<int>& positions : of_one) {
        std::vector<int>& ranks = sets.emplace_back();
        for (const int position : positions) ranks.push_back(world_.rank(group, position));
      }
    }
  }

  void copy_groups() {
    for (auto& [name, sets] : program_.groups) copy(sets);
    program_.groups[kReplicaGroup] = world_.replica_sets();
    program_.groups[kShardingGroup] = world_.sharding_sets();
    program_.groups["world"] = {all_ranks(world_.size() * world_.groups())};
  }

  void copy(Op& op) {
    if (op.is_collective()) return copy_collective(op);
    const std::vector<int> places = places_of(op);
    for (PerRank* const of_ranks :
         {&op.lookups, &op.bags, &op.hbm_bytes, &op.host_bytes, &op.flops, &op.distinct_rows, &op.distinct_growth,
          &op.row_bytes, &op.vector_bytes, &op.ssd_bytes, &op.ssd_reads, &op.memory_bytes})
      spread(*of_ranks, places);
    for (OpTable& table : op.tables) spread(table.lookups, places);
    for (OpProduct& product : op.products)
      for (PerRank* const side : {&product.m, &product.n, &product.k}) spread(*side, places);
    if (!op.ranks.empty()) op.ranks = ranks_of(op.ranks);
  }

  void copy_collective(Op& op) const {
    if (op.group == kReplicaGroup) return;
    if (op.group == "world" && !of_whole_world(op.role)) op.group = kShardingGroup;
    const std::vector<std::int64_t> of_one = op.bytes_by_set;
    for (int group = 1; group < world_.groups(); ++group)
      op.bytes_by_set.insert(op.bytes_by_set.end(), of_one.begin(), of_one.end());
  }

  // Ranks at these positions, ascending.
  std::vector<int> ranks_of(const std::vector<int>& positions) const {
    std::vector<int> ranks;
    for (const int position : positions)
      for (int group = 0; group < world_.groups(); ++group) ranks.push_back(world_.rank(group, position));
    std::ranges::sort(ranks);
    return ranks;
  }

  // Each rank of the operation has the place of its position among the positions that the operation has.
  std::vector<int> places_of(const Op& op) const {
    const std::vector<int> positions = program_.ranks_of(op);
    std::vector<int> places;
    for (const int rank : ranks_of(positions)) {
      const auto found = std::ranges::find(positions, world_.position(rank));
      places.push_back(static_cast<int>(found - positions.begin()));
    }
    return places;
  }

  static void spread(PerRank& of_positions, const std::vector<int>& places) {
    if (of_positions.values.size() < 2) return;
    std::vector<double> values;
    for (const int place : places) values.push_back(of_positions.values[static_cast<std::size_t>(place)]);
    of_positions.values = std::move(values);
  }

  Program program_;
  const GroupedWorld& world_;
};

}  // namespace

bool of_whole_world(OpRole role) {
  return role == OpRole::dense_all_reduce || role == OpRole::reduce_gradient;
}

Program in_all_groups(Program of_group, const GroupedWorld& world, int ranks_per_node) {
  return GroupCopies(std::move(of_group), world).take(ranks_per_node);
}

}  // namespace shardsim
