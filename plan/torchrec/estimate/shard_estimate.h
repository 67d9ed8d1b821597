#pragma once

#include <optional>

#include "plan/torchrec/spec/table_spec.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

inline constexpr double kIdBytes = 8;  // of an id, and of a length, as the planner counts them

// The ids and bags that one rank's batch asks of a table.
struct BatchLoad {
  double inputs = 0;  // X: ids, over all features
  double bags = 0;  // Y: bags, over all features; 2026-08 counts the share that is not empty of pooling factors below 1
};

// Errors: PlannerError (other) when the lists of the table differ in length.
BatchLoad batch_load(const TableSpec& table, const EstimateSettings& settings);

// X as one shard of the type sees it: row-wise types share it among their row shards, all ranks or those of a group.
double inputs_per_shard(const BatchLoad& load, ShardingType type, const Topology& topology);

struct BufferBytes {
  std::int64_t input = 0, output = 0;  // a and b of the planner's documentation
};

// Input and output buffers of one shard of rows x cols. `element_bytes`: of one output element.
BufferBytes buffer_bytes(const TableSpec& table, const BatchLoad& load, ShardingType type, const Topology& topology,
                         std::int64_t rows, std::int64_t cols, double element_bytes);

// Bytes of one shard, taken apart (EmbeddingStorageEstimator of shard_estimators.py). A cached shard's optimizer counts
// twice: for the cached share in HBM, and for the whole in DDR.
struct ShardStorage {
  Storage tensor, optimizer;
  std::int64_t cache_aux = 0;          // hbm
  std::int64_t input = 0, output = 0;  // buffers; what of them counts is in `buffers`
  Storage buffers;                     // of the pipeline: multiples of input and output
  std::optional<std::int64_t>
      first_level_cache;  // key-value kernels: stands for tensor, optimizer and auxiliary in hbm
  std::int64_t ssd = 0;   // all of a shard of key_value, by version 2026-08

  Storage resident() const;
  Storage total() const { return resident() + buffers; }
};

// A table's bytes before sharding, in the memory where the kernel keeps them. `whole` is all of it, wherever it lies.
struct TableStorage {
  Storage raw;
  std::int64_t whole = 0;
};
// Errors: PlannerError (other) when the device has no such kernel, or the table is beyond 2^63 bytes.
TableStorage table_storage(const TableSpec& table, ComputeKernel kernel, Device device, const Rules& rules);

// Input, output and everything resident of a shard of rows x cols.
ShardStorage shard_storage(const TableSpec& table, const TableStorage& stored, ShardingType type, ComputeKernel kernel,
                           const Topology& topology, const EstimateSettings& settings, std::int64_t rows,
                           std::int64_t cols, const BatchLoad& load);

// The steps, for whoever needs one alone.
std::int64_t tensor_bytes(std::int64_t storage, Wide shard_elements, Wide table_elements);
double optimizer_multiplier(Optimizer optimizer, std::int64_t table_columns);
std::int64_t optimizer_bytes(std::int64_t tensor, Optimizer optimizer, std::int64_t table_columns);
std::int64_t cache_aux_bytes(std::int64_t rows, double load_factor);
// The bytes of input and output buffers that the pipeline keeps on an accelerator.
std::int64_t pipeline_bytes(const EstimateSettings& settings, std::int64_t input, std::int64_t output, bool cached,
                            std::optional<double> prefetch_passes);
double storage_load_factor(const TableSpec& table);  // 0.2 where none, or 0, is given

// Milliseconds of one shard with `rows` x `cols` elements (EmbeddingPerfEstimator, in shard_estimators.py or, in
// 2026-08, planner/estimator/): bytes over bandwidths, added up; no latency, no overlap, no message size. Only
// data_parallel looks at the rows, and a hardware configuration with coefficients for them. Errors: PlannerError
// (value_error) when the device has no such kernel, or the hardware configuration does not support the type.
Perf shard_perf(const TableSpec& table, const BatchLoad& load, ShardingType type, ComputeKernel kernel,
                const Topology& topology, const EstimateSettings& settings, std::int64_t rows, std::int64_t cols);

}  // namespace shardsim::torchrec
