#pragma once

#include "plan/torchrec/estimate/batch_load.h"

namespace shardsim::torchrec {

// Milliseconds of one shard with `rows` x `cols` elements (EmbeddingPerfEstimator of shard_estimators.py): bytes over
// bandwidths, added up; no latency, no overlap, no message size. Only data_parallel looks at the rows.
// Errors: PlannerError (other) when the device has no such kernel.
Perf shard_perf(const TableSpec& table, const BatchLoad& load, ShardingType type, ComputeKernel kernel,
                const Topology& topology, const EstimateSettings& settings, std::int64_t rows, std::int64_t cols);

}  // namespace shardsim::torchrec
