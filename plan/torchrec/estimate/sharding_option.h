#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/torchrec/estimate/shard_estimate.h"
#include "plan/torchrec/spec/table_spec.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// Consecutive shards of one option with equal size and equal estimates: 128 shards of a table are two or three runs.
struct ShardRun {
  int count = 1;
  std::int64_t rows = 0, cols = 0;              // of each shard
  std::int64_t row_offset = 0, col_offset = 0;  // of the first
  std::int64_t row_step = 0, col_step = 0;      // from one shard to the next
  std::int64_t input_bytes = 0, output_bytes = 0;
  Storage storage;
  Perf perf;

  std::int64_t row_offset_of(int i) const { return row_offset + i * row_step; }
  std::int64_t col_offset_of(int i) const { return col_offset + i * col_step; }
};

// The shards into which the sharding type cuts the table, in shard order, with sizes and offsets alone
// (torchrec/distributed/ sharding_plan.py). Errors: PlannerError (value_error) for a table without rows,
// (assertion_error) for buckets that do not divide it.
std::vector<ShardRun> cut_table(const TableSpec& table, ShardingType type, const Topology& topology,
                                const Rules& rules);

// Version 2026-08 wants a bucket for every rank, and those of managed-collision collections in equal shares. Errors:
// PlannerError (value_error).
void require_buckets(const TableSpec& table, ShardingType type, const Topology& topology, PlannerVersion version);

// Blocks of ceil(rows / count) rows over all `cols` columns until they are used up, then a shorter one, then empty
// ones.
std::vector<ShardRun> even_rows(std::int64_t rows, std::int64_t cols, int count);

// Columns of one block of the column types: the smallest divisor of `columns` that is a multiple of 4 and at least
// `least` (0: 128); all columns where there is none.
std::int64_t column_block(std::int64_t columns, std::int64_t least);

// Rows [begin, end) in popularity order.
struct RowTier {
  std::uint64_t begin = 0, end = 0;
};

// One way to shard one table: a sharding type and a kernel, cut and estimated.
struct ShardingOption {
  int table = 0;  // index into the run's tables
  ShardingType type = ShardingType::table_wise;
  ComputeKernel kernel = ComputeKernel::fused;
  PartitionBy partition = PartitionBy::device;
  std::optional<double> load_factor;  // of the table's cache parameters
  std::vector<ShardRun> runs;

  // For plans beyond TorchRec. `flex`: a replicated flex table or tier, which stands here as table_row_wise on every
  // node. `tier`: part of a table's rows.
  bool flex = false;
  std::optional<RowTier> tier;

  // Derived by `summarise`.
  int shards = 0;
  Storage total, largest;     // over all shards; largest: of hbm and of ddr apart
  double depth = 0, sum = 0;  // ms of the slowest shard; of all shards
  bool even_perf = true;      // all shards cost the same
  std::uint64_t key = 0;      // tells options apart: table, type, kernel, load factor, shards

  std::string_view type_name() const;   // "table_wise", "flex"
  std::string_view type_label() const;  // "TW", "FLEX"
  void summarise();
};

// Calls visit(rank, run) for every shard; `ranks` of them, in shard order.
template <typename Visit>
void each_shard(const ShardingOption& option, std::span<const int> ranks, Visit visit) {
  std::size_t shard = 0;
  for (const ShardRun& run : option.runs) {
    for (int i = 0; i < run.count; ++i) visit(ranks[shard++], run);
  }
}

// The bytes of the shards of one size, however they alternate (grid_shard), step by step.
struct ShardExplanation {
  std::int64_t rows = 0, cols = 0;
  std::vector<int> ranks;  // of each
  ShardStorage storage;
};
std::vector<ShardExplanation> explain(const ShardingOption& option, const TableSpec& table, std::span<const int> ranks,
                                      const Topology& topology, const EstimateSettings& settings);

// Time and storage of every shard of an option that is cut already, and its sums. Errors: PlannerError.
void estimate_shards(ShardingOption& option, const TableSpec& table, const Topology& topology,
                     const EstimateSettings& settings);

// Cuts the table and estimates every shard. Errors: PlannerError.
ShardingOption estimate_option(const TableSpec& table, int index, ShardingType type, ComputeKernel kernel,
                               const Topology& topology, const EstimateSettings& settings);

}  // namespace shardsim::torchrec
