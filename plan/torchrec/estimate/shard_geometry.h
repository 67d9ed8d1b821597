#pragma once

#include <vector>

#include "plan/torchrec/estimate/shard_run.h"
#include "plan/torchrec/spec/table_spec.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// How the sharding type cuts the table, in shard order, with sizes and offsets alone (torchrec/distributed/
// sharding_plan.py). Errors: PlannerError (other) for a table without rows, or buckets that do not divide it.
std::vector<ShardRun> cut_table(const TableSpec& table, ShardingType type, const Topology& topology,
                                const Rules& rules);

// Columns of one block of the column types: the smallest divisor of `columns` that is a multiple of 4 and at least
// `least` (0: 128); all columns where there is none.
std::int64_t column_block(std::int64_t columns, std::int64_t least);

int shard_count(const std::vector<ShardRun>& runs);

}  // namespace shardsim::torchrec
