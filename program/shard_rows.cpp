#include "program/shard_rows.h"

#include <algorithm>
#include <cmath>

namespace shardsim {

const Table& table_of(const Program& program, const Program::Shard& shard) {
  return program.tables[static_cast<std::size_t>(shard.table)];
}

RowOwners row_owners(const Program& program, const Program::Shard& shard) {
  const RowOrder order = shard.order == "row_id" ? RowOrder::random : RowOrder::popularity;
  return {shard.rows(), shard.shards(), order, shard.cut, row_hash(program, shard), shard.bucket_rows};
}

std::int64_t rows_of_piece(const Program::Shard& shard, int position) {
  if (shard.cut == RowCut::hashed) return static_cast<std::int64_t>(shard.shard_rows(position));
  const RowOwners owners(shard.rows(), shard.shards(), RowOrder::popularity, shard.cut, {}, shard.bucket_rows);
  return static_cast<std::int64_t>(owners.rows_of(position));
}

RowHash row_hash(const Program& program, const Program::Shard& shard) {
  const Table& table = table_of(program, shard);
  return {row_key(table), program.hash_seed, std::max(shard.tier, 0), joined_rows(table, shard.row_end)};
}

double items_of(const Program& program, const Program::Shard& shard) {
  const Table& table = program.tables[static_cast<std::size_t>(shard.table)];
  const double per_sample = table.distribution().sum(shard.row_begin, shard.row_end);
  return std::floor(batch_of(table, program.batch_per_rank) * per_sample + 0.5);
}

std::size_t sources_of(const Program& program, const Program::Shard& shard) {
  return static_cast<std::size_t>(program.world_size) / shard.holders.size();
}

double lookups_of_set(const Program& program, const Program::Shard& shard) {
  return items_of(program, shard) * static_cast<double>(sources_of(program, shard));
}

std::vector<double> lookups_of(const Program& program, const Program::Shard& shard) {
  if (!shard.lookups.empty()) return {shard.lookups.begin(), shard.lookups.end()};
  const std::size_t holders = shard.holders.front().size();
  if (shard.strategy == Strategy::data_parallel) return std::vector<double>(holders, items_of(program, shard));
  const auto owners = std::min<double>(shard.shards(), static_cast<double>(shard.rows()));
  std::vector<double> lookups(holders, lookups_of_set(program, shard) / owners);
  std::fill(lookups.begin() + static_cast<std::ptrdiff_t>(owners), lookups.end(), 0.0);
  return lookups;
}

}  // namespace shardsim
