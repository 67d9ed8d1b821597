#pragma once

#include "models/load/row_owners.h"
#include "program/program.h"

namespace shardsim {

// The table that the shard is a part of.
const Table& table_of(const Program& program, const Program::Shard& shard);

// Who holds which row of a shard that is cut by rows.
RowOwners row_owners(const Program& program, const Program::Shard& shard);

// The hash by which the rows of the shard are permuted.
RowHash row_hash(const Program& program, const Program::Shard& shard);

}  // namespace shardsim
