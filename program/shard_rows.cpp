#include "program/shard_rows.h"

#include <algorithm>

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

}  // namespace shardsim
