#pragma once

#include <cstdint>

#include "models/load/row_owners.h"
#include "program/program.h"

namespace shardsim {

// The table that the shard is a part of.
const Table& table_of(const Program& program, const Program::Shard& shard);

// Who holds which row of a shard that is cut by rows.
RowOwners row_owners(const Program& program, const Program::Shard& shard);

// Rows of the piece at a position of the holders, by the way in which they are cut: blocks, as TorchRec cuts them,
// leave the last ones fewer; else the first ones have one more.
std::int64_t rows_of_piece(const Program::Shard& shard, int position);

// The hash by which the rows of the shard are permuted.
RowHash row_hash(const Program& program, const Program::Shard& shard);

}  // namespace shardsim
