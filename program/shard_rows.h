#pragma once

#include <cstdint>
#include <vector>

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

// Rows of one rank's batch in the shard, expected, as lowering counts them.
double items_of(const Program& program, const Program::Shard& shard);

// Ranks whose ids one set of holders serves together.
std::size_t sources_of(const Program& program, const Program::Shard& shard);

// Lookups of an iteration of one set of holders together.
double lookups_of_set(const Program& program, const Program::Shard& shard);

// [position] of each holder of one set of holders.
std::vector<double> lookups_of(const Program& program, const Program::Shard& shard);

}  // namespace shardsim
