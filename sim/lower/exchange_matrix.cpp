#include <algorithm>
#include <numeric>

#include "sim/lower/group_member.h"

namespace shardsim {
namespace {

std::int64_t units_of(const GroupMember& member, Carried what) {
  if (what == Carried::ids) return member.items;
  if (what == Carried::weights) return member.weighted;
  return what == Carried::lengths ? member.lengths : member.vectors;
}

// Positions of the owners of each shard in the exchange group.
std::vector<int> positions(const GroupMember& member, int group_size) {
  if (member.placement->strategy != Strategy::flex) return member.placement->holders.front();
  std::vector<int> all(group_size);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// A bucket of lengths goes to every row shard, an id to the one that holds its row.
std::vector<std::int64_t> units_by_position(const GroupMember& member, int group_size, Carried what) {
  std::vector<std::int64_t> units(group_size, 0);
  const std::vector<int> owners = positions(member, group_size);
  std::vector<std::int64_t> parts(owners.size(), member.lengths);
  if (what != Carried::lengths) parts = split_by_largest_remainder(units_of(member, what), member.shares());
  for (std::size_t shard = 0; shard < owners.size(); ++shard) units[owners[shard]] += parts[shard];
  return units;
}

// Over all positions, as the ids of a row-wise table that every rank has a part of.
bool spread_evenly(const GroupMember& member, int group_size) {
  const Strategy strategy = member.placement->strategy;
  if (strategy != Strategy::flex && strategy != Strategy::row_wise) return false;
  const std::vector<double> shares = member.shares();
  return static_cast<int>(shares.size()) == group_size && std::find(shares.begin(), shares.end(), 0.0) == shares.end();
}

std::int64_t common_unit(const std::vector<GroupMember>& members, Carried what, int id_bytes) {
  std::int64_t unit = 0;
  for (const GroupMember& member : members) unit = std::gcd(unit, unit_bytes(member, what, id_bytes));
  return unit;
}

}  // namespace

std::int64_t unit_bytes(const GroupMember& member, Carried what, int id_bytes) {
  switch (what) {
    case Carried::ids:
      return id_bytes;
    case Carried::lengths:
      return kLengthBytes;
    case Carried::weights:
      return kWeightBytes;
    case Carried::forward:
      return member.forward_bytes;
    case Carried::backward:
      break;
  }
  return member.backward_bytes;
}

ByteMatrix exchange_matrix(const std::vector<GroupMember>& members, int group_size, Carried what, int id_bytes) {
  ByteMatrix matrix;
  matrix.unit_bytes = common_unit(members, what, id_bytes);
  const bool even =
      std::all_of(members.begin(), members.end(), [&](const GroupMember& m) { return spread_evenly(m, group_size); });
  matrix.kind = even ? ByteMatrix::Kind::even : ByteMatrix::Kind::by_destination;
  matrix.units.assign(even ? 1 : group_size, 0);
  for (const GroupMember& member : members) {
    const std::int64_t factor = unit_bytes(member, what, id_bytes) / matrix.unit_bytes;
    if (even) {
      matrix.units[0] += units_of(member, what) * factor * (what == Carried::lengths ? group_size : 1);
      continue;
    }
    const auto units = units_by_position(member, group_size, what);
    for (int owner = 0; owner < group_size; ++owner) matrix.units[owner] += units[owner] * factor;
  }
  return matrix;
}

ByteMatrix cross_matrix(const std::vector<GroupMember>& members, int nodes, int ranks_per_node, Carried what) {
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::by_destination;
  matrix.unit_bytes = common_unit(members, what, 0);
  matrix.units.assign(nodes, 0);
  for (const GroupMember& member : members) {
    const int node = member.placement->holders.front().front() / ranks_per_node;
    matrix.units[node] += member.vectors * unit_bytes(member, what, 0) / matrix.unit_bytes;
  }
  return matrix;
}

}  // namespace shardsim
