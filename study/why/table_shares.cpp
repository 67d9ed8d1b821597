#include "study/why/table_shares.h"

#include "program/shard_lookups.h"

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

}  // namespace

const TableShares::Shares& TableShares::of(int op, int rank) {
  const auto [entry, added] = known_.try_emplace({op, rank});
  if (added) entry->second = weights(program_.op(op), rank);
  return entry->second;
}

TableShares::Shares TableShares::weights(const Op& op, int rank) {
  Shares shares;
  const std::vector<int>* shards = &op.shards;
  if (shards->empty() && op.fusion >= 0) shards = &program_.fusions[static_cast<std::size_t>(op.fusion)].shards;
  double total = 0;
  for (const int shard : *shards) {
    const double each = weight(op, shard, rank);
    shares[program_.shard(shard).table] += each;
    total += each;
  }
  if (total <= 0) return {};
  for (auto& [table, share] : shares) share /= total;
  return shares;
}

double TableShares::weight(const Op& op, int index, int rank) {
  const Program::Shard& shard = program_.shard(index);
  const Table& table = program_.table_of(index);
  if (goes_by_bags(op, table))
    return static_cast<double>(table.features.size()) * bytes_each(op, program_, shard, table);
  const std::vector<double>& each = lookups(index);
  double count = 0;
  for (const std::vector<int>& set : shard.holders) {
    if (op.is_collective()) count += sum(each);
    for (std::size_t i = 0; i < set.size() && !op.is_collective(); ++i)
      if (set[i] == rank) count += each[i];
  }
  return count * bytes_each(op, program_, shard, table);
}

const std::vector<double>& TableShares::lookups(int shard) {
  const auto [entry, added] = lookups_.try_emplace(shard);
  if (added) entry->second = lookups_of(program_, program_.shard(shard));
  return entry->second;
}

}  // namespace shardsim
