#pragma once

#include "plan/torchrec/estimate/shard_run.h"
#include "plan/torchrec/spec/table_spec.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

inline constexpr double kIdBytes = 8;  // of an id, and of a length, as the planner counts them

// What one rank's batch asks of a table.
struct BatchLoad {
  double inputs = 0;  // X: ids, over all features
  double bags = 0;    // Y: bags, over all features
};

// Errors: PlannerError (other) when the lists of the table differ in length.
BatchLoad batch_load(const TableSpec& table, double batch_size);

// X as one shard of the type sees it: row-wise types share it among their row shards.
double inputs_per_shard(const BatchLoad& load, ShardingType type, const Topology& topology);

struct BufferBytes {
  std::int64_t input = 0, output = 0;  // a and b of the planner's documentation
};

// Input and output buffers of one shard of rows x cols. `element_bytes`: of one output element.
BufferBytes buffer_bytes(const TableSpec& table, const BatchLoad& load, ShardingType type, const Topology& topology,
                         std::int64_t rows, std::int64_t cols, double element_bytes);

}  // namespace shardsim::torchrec
