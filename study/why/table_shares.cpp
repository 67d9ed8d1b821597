#include "study/why/table_shares.h"

#include <algorithm>

#include "program/program.h"

namespace shardsim {
namespace {

double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

// Returns the bytes that an operation moves or touches for each lookup or bag of a table.
double bytes_each(const Op& op, const Program& program, const Program::Shard& shard, const Table& table) {
  if (exchanges_inputs(op.role)) return program.id_bytes;
  return static_cast<double>(shard.columns() * dtype_bytes(table.dtype));
}

// Vectors of pooled tables are one for each bag, however many rows it has.
bool goes_by_bags(const Op& op, const Table& table) {
  return table.kind == TableKind::pooled && op.is_collective() && !exchanges_inputs(op.role);
}

// Adds up what is of the same table, in the order in which it came, and divides by the sum of all.
void divide(std::vector<TableShares::Share>& shares) {
  double total = 0;
  for (const TableShares::Share& share : shares) total += share.part;
  std::ranges::stable_sort(shares, {}, &TableShares::Share::table);
  std::size_t kept = 0;
  for (const TableShares::Share& share : shares) {
    if (kept > 0 && shares[kept - 1].table == share.table) {
      shares[kept - 1].part += share.part;
    } else {
      shares[kept++] = share;
    }
  }
  shares.resize(total > 0 ? kept : 0);
  for (TableShares::Share& share : shares) share.part /= total;
}

}  // namespace

const TableShares::Shares& TableShares::of(int op, int rank) {
  const auto [entry, added] = known_.try_emplace({op, rank});
  const Op& of = program_.op(op);
  if (added) entry->second = of.is_collective() ? of_exchange(of) : of_computing(of, rank);
  return entry->second;
}

TableShares::Shares TableShares::of_own(int op, int rank) {
  const Op& of_op = program_.op(op);
  if (!of_op.is_collective()) return of(op, rank);
  Shares own;
  double total = 0;
  for (const int index : shards_of(of_op)) {
    const double bytes = exchanged_by(of_op, index, rank);
    if (bytes <= 0) continue;
    own[program_.shard(index).table] += bytes;
    total += bytes;
  }
  for (auto& [table, share] : own) share /= total;
  return own.empty() ? of(op, rank) : own;
}

// Returns the bytes of a holder; 0 of other ranks.
double TableShares::exchanged_by(const Op& op, int index, int rank) {
  const Program::Shard& shard = program_.shard(index);
  const Table& table = program_.table_of(index);
  const double each = bytes_each(op, program_, shard, table);
  double count = 0;
  for (const std::vector<int>& set : shard.holders)
    for (std::size_t i = 0; i < set.size(); ++i)
      if (set[i] == rank)
        count += goes_by_bags(op, table) ? static_cast<double>(table.features.size()) : lookups(index)[i];
  return count * each;
}

const std::vector<TableShares::Share>& TableShares::of_held(int op, int rank) {
  const Op& of = program_.op(op);
  const auto [entry, added] = by_rank_.try_emplace(shards_of(of));
  if (added) {
    entry->second = weights_by_rank(of);
    for (std::vector<Share>& shares : entry->second) divide(shares);
  }
  return entry->second[static_cast<std::size_t>(rank)];
}

const std::vector<int>& TableShares::shards_of(const Op& op) const {
  const bool of_fusion = op.shards.empty() && op.fusion >= 0;
  return of_fusion ? program_.fusions[static_cast<std::size_t>(op.fusion)].shards : op.shards;
}

TableShares::Shares TableShares::of_computing(const Op& op, int rank) {
  Shares shares;
  const std::vector<Share>& held = of_held(op.id, rank);
  if (held.empty()) return shares;
  for (const int shard : shards_of(op)) shares[program_.shard(shard).table] = 0;
  for (const Share& share : held) shares[share.table] = share.part;
  return shares;
}

TableShares::Shares TableShares::of_exchange(const Op& op) {
  Shares shares;
  double total = 0;
  for (const int shard : shards_of(op)) {
    const double each = exchanged(op, shard);
    shares[program_.shard(shard).table] += each;
    total += each;
  }
  if (total <= 0) return {};
  for (auto& [table, share] : shares) share /= total;
  return shares;
}

// Returns the bytes of all ranks.
double TableShares::exchanged(const Op& op, int index) {
  const Program::Shard& shard = program_.shard(index);
  const Table& table = program_.table_of(index);
  const double each = bytes_each(op, program_, shard, table);
  if (goes_by_bags(op, table)) return static_cast<double>(table.features.size()) * each;
  const double of_set = sum(lookups(index));
  double count = 0;
  for (std::size_t set = 0; set < shard.holders.size(); ++set) count += of_set;
  return count * each;
}

// [rank] bytes that it reads of the tables of its shards, in their order. One pass over the holders says it of all
// ranks: one for each rank would take the square of them.
std::vector<std::vector<TableShares::Share>> TableShares::weights_by_rank(const Op& op) {
  std::vector<std::vector<Share>> weights(static_cast<std::size_t>(program_.world_size));
  std::vector<double> counts(weights.size(), 0.0);
  for (const int index : shards_of(op)) {
    const Program::Shard& shard = program_.shard(index);
    const double each = bytes_each(op, program_, shard, program_.table_of(index));
    const std::vector<double>& lookups_each = lookups(index);
    for (const std::vector<int>& set : shard.holders)
      for (std::size_t i = 0; i < set.size(); ++i) counts[static_cast<std::size_t>(set[i])] += lookups_each[i];
    for (const std::vector<int>& set : shard.holders) {
      for (const int holder : set) {
        double& count = counts[static_cast<std::size_t>(holder)];
        if (count != 0) weights[static_cast<std::size_t>(holder)].push_back({shard.table, count * each});
        count = 0;
      }
    }
  }
  return weights;
}

const std::vector<double>& TableShares::lookups(int shard) {
  const auto [entry, added] = lookups_.try_emplace(shard);
  if (added) entry->second = lookups_of(program_, program_.shard(shard));
  return entry->second;
}

}  // namespace shardsim
