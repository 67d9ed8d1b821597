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

// Partial sums and their gradients: a vector for every bag, of each owner that has rows.
bool is_of_bags(const GroupMember& member, CarriedPart what) {
  return member.pooled() && (what == &GroupMember::forward || what == &GroupMember::backward);
}

// True of what goes to every owner of a table's rows, whichever of them the ids are.
bool is_of_features(CarriedPart what) {
  return what == &GroupMember::lengths || what == &GroupMember::strides;
}

// A bucket of lengths goes to every row shard, an id to the one that holds its row.
std::vector<std::int64_t> units_by_position(const GroupMember& member, int group_size, CarriedPart what) {
  std::vector<std::int64_t> units(group_size, 0);
  const std::vector<int> owners = positions(member, group_size);
  std::vector<std::int64_t> parts(owners.size(), (member.*what).count);
  if (is_of_bags(member, what)) {
    for (std::size_t shard = 0; shard < owners.size(); ++shard) {
      if (!member.has_rows(static_cast<int>(shard))) parts[shard] = 0;
    }
  } else if (!is_of_features(what)) {
    parts = split_by_largest_remainder((member.*what).count, member.shares());
  }
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

// Members of a group above which a Program holds no number for each pair.
constexpr int kLargeGroup = 1024;

// The matrix where one owner of rows gets more than another: the sum of what each member would send alone.
class UnevenMatrix {
 public:
  UnevenMatrix(const std::vector<GroupMember>& members, int group_size, CarriedPart what)
      : members_(members), size_(group_size), what_(what) {
    for (const GroupMember& member : members) counts_.push_back(counts_of(member, (member.*what).count, group_size));
  }

  ByteMatrix make() const {
    ByteMatrix matrix;
    matrix.unit_bytes = common_unit(members_, what_);
    if (size_ > kLargeGroup || sources_alike()) {
      matrix.kind = ByteMatrix::Kind::by_destination;
      matrix.units = first_row(matrix.unit_bytes);
      return matrix;
    }
    matrix.kind = ByteMatrix::Kind::dense;
    matrix.dense.assign(static_cast<std::size_t>(size_), std::vector<std::int64_t>(static_cast<std::size_t>(size_), 0));
    matrix.dense.front() = first_row(matrix.unit_bytes);
    add_changes(matrix);
    for (std::size_t source = 1; source < matrix.dense.size(); ++source) {
      const std::vector<std::int64_t>& before = matrix.dense[source - 1];
      std::vector<std::int64_t>& units = matrix.dense[source];
      for (std::size_t owner = 0; owner < units.size(); ++owner) units[owner] += before[owner];
    }
    return matrix;
  }

 private:
  bool sources_alike() const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const bool divides = counts_[i].rule() == IdCounts::Rule::even && (members_[i].*what_).count % size_ == 0;
      if (!divides && counts_[i].rule() != IdCounts::Rule::by_destination) return false;
    }
    return true;
  }

  // Returns the units that the first source sends to each position.
  std::vector<std::int64_t> first_row(std::int64_t unit_bytes) const {
    std::vector<std::int64_t> units(size_, 0);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::int64_t factor = (members_[i].*what_).bytes / unit_bytes;
      const std::vector<int> owners = positions(members_[i], size_);
      for (std::size_t owner = 0; owner < owners.size(); ++owner) {
        units[owners[owner]] += factor * counts_[i].sent(0, static_cast<int>(owner));
      }
    }
    return units;
  }

  // Adds the difference between every other source and the one before it: a number or two for each member and owner,
  // where the matrix has as many cells as there are sources.
  void add_changes(ByteMatrix& matrix) const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::int64_t factor = (members_[i].*what_).bytes / matrix.unit_bytes;
      const std::vector<int> owners = positions(members_[i], size_);
      for (std::size_t owner = 0; owner < owners.size(); ++owner) {
        for (const IdCounts::Change& change : counts_[i].changes(static_cast<int>(owner))) {
          matrix.dense[change.source][owners[owner]] += factor * change.by;
        }
      }
    }
  }

  const std::vector<GroupMember>& members_;
  int size_;
  CarriedPart what_;
  std::vector<IdCounts> counts_;  // [member]
};

}  // namespace

ByteMatrix exchange_matrix(const std::vector<GroupMember>& members, int group_size, CarriedPart what) {
  const bool uneven = std::ranges::any_of(
      members, [&](const GroupMember& member) { return member.uneven != nullptr && !is_of_bags(member, what); });
  if (uneven && !is_of_features(what)) return UnevenMatrix(members, group_size, what).make();
  ByteMatrix matrix;
  matrix.unit_bytes = common_unit(members, what);
  const bool even =
      std::all_of(members.begin(), members.end(), [&](const GroupMember& m) { return spread_evenly(m, group_size); });
  matrix.kind = even ? ByteMatrix::Kind::even : ByteMatrix::Kind::by_destination;
  matrix.units.assign(even ? 1 : group_size, 0);
  for (const GroupMember& member : members) {
    const std::int64_t factor = (member.*what).bytes / matrix.unit_bytes;
    if (even) {
      const bool to_each = is_of_features(what) || is_of_bags(member, what);
      matrix.units[0] += (member.*what).count * factor * (to_each ? group_size : 1);
      continue;
    }
    const auto units = units_by_position(member, group_size, what);
    for (int owner = 0; owner < group_size; ++owner) matrix.units[owner] += units[owner] * factor;
  }
  return matrix;
}

ByteMatrix drawn_matrix(const std::vector<GroupMember>& members, const std::vector<int>& set, CarriedPart what) {
  const int size = static_cast<int>(set.size());
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::dense;
  matrix.unit_bytes = common_unit(members, what);
  matrix.dense.assign(set.size(), std::vector<std::int64_t>(set.size(), 0));
  for (const GroupMember& member : members) {
    const CellCounts& counts = *drawn_counts(member, what);
    const std::int64_t factor = (member.*what).bytes / matrix.unit_bytes;
    const std::vector<int> owners = positions(member, size);
    for (std::size_t source = 0; source < set.size(); ++source) {
      for (std::size_t owner = 0; owner < owners.size(); ++owner) {
        matrix.dense[source][static_cast<std::size_t>(owners[owner])] += factor * counts.at(set[source], owner);
      }
    }
  }
  return matrix;
}

ByteMatrix cross_matrix(const std::vector<GroupMember>& members, int nodes, int ranks_per_node, CarriedPart what) {
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::by_destination;
  matrix.unit_bytes = common_unit(members, what);
  matrix.units.assign(nodes, 0);
  for (const GroupMember& member : members) {
    for (const int node : owning_nodes(member, ranks_per_node)) {
      matrix.units[node] += (member.*what).count * (member.*what).bytes / matrix.unit_bytes;
    }
  }
  return matrix;
}

}  // namespace shardsim
