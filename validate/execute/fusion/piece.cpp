#include "validate/execute/fusion/piece.h"

#include <cstddef>

#include "validate/execute/buffers/data_check.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {

std::vector<Piece> pieces_of(const Program& program, const Program::Shard& shard) {
  std::vector<Piece> pieces(static_cast<std::size_t>(row_shards(shard)));
  for (int position = 0; position < row_shards(shard); ++position) {
    Piece& piece = pieces[static_cast<std::size_t>(position)];
    piece.dim = shard.column_end - shard.column_begin;
    const auto rows = static_cast<std::size_t>(row_shard_rows(shard, position));
    piece.rows.resize(rows * static_cast<std::size_t>(piece.dim));
    piece.sums.resize(piece.rows.size());
    piece.reads.resize(rows);
  }
  const std::uint64_t key = table_key(program.tables[static_cast<std::size_t>(shard.table)]);
  for (std::uint64_t position = shard.row_begin; position < shard.row_end; ++position) {
    const RowOwner owner = row_owner(program, shard, position);
    Piece& piece = pieces[static_cast<std::size_t>(owner.shard)];
    float* const row = piece.row(static_cast<std::int64_t>(owner.local_row));
    for (std::int64_t c = 0; c < piece.dim; ++c) row[c] = first_value(key, position, shard.column_begin + c);
  }
  return pieces;
}

}  // namespace shardsim
