#include <algorithm>
#include <numeric>

#include "sim/lower/group_member.h"

namespace shardsim {
namespace {

// Positions of the owners of each shard in the exchange group.
std::vector<int> positions(const GroupMember& member, int group_size) {
  if (member.placement->strategy != Strategy::flex) return member.placement->holders.front();
  std::vector<int> all(group_size);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// A bucket of lengths goes to every row shard, an id to the one that holds its row.
std::vector<std::int64_t> units_by_position(const GroupMember& member, int group_size, CarriedPart what) {
  std::vector<std::int64_t> units(group_size, 0);
  const std::vector<int> owners = positions(member, group_size);
  std::vector<std::int64_t> parts(owners.size(), (member.*what).count);
  if (what != &GroupMember::lengths) parts = split_by_largest_remainder((member.*what).count, member.shares());
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

std::int64_t common_unit(const std::vector<GroupMember>& members, CarriedPart what) {
  std::int64_t unit = 0;
  for (const GroupMember& member : members) unit = std::gcd(unit, (member.*what).bytes);
  return unit;
}

}  // namespace

ByteMatrix exchange_matrix(const std::vector<GroupMember>& members, int group_size, CarriedPart what) {
  ByteMatrix matrix;
  matrix.unit_bytes = common_unit(members, what);
  const bool even =
      std::all_of(members.begin(), members.end(), [&](const GroupMember& m) { return spread_evenly(m, group_size); });
  matrix.kind = even ? ByteMatrix::Kind::even : ByteMatrix::Kind::by_destination;
  matrix.units.assign(even ? 1 : group_size, 0);
  for (const GroupMember& member : members) {
    const std::int64_t factor = (member.*what).bytes / matrix.unit_bytes;
    if (even) {
      matrix.units[0] += (member.*what).count * factor * (what == &GroupMember::lengths ? group_size : 1);
      continue;
    }
    const auto units = units_by_position(member, group_size, what);
    for (int owner = 0; owner < group_size; ++owner) matrix.units[owner] += units[owner] * factor;
  }
  return matrix;
}

ByteMatrix cross_matrix(const std::vector<GroupMember>& members, int nodes, int ranks_per_node, CarriedPart what) {
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::by_destination;
  matrix.unit_bytes = common_unit(members, what);
  matrix.units.assign(nodes, 0);
  for (const GroupMember& member : members) {
    const int node = member.placement->holders.front().front() / ranks_per_node;
    matrix.units[node] += (member.*what).count * (member.*what).bytes / matrix.unit_bytes;
  }
  return matrix;
}

}  // namespace shardsim
