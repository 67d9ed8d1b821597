#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/torchrec/estimate/shard_geometry.h"

namespace shardsim::torchrec {

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

  // Of a plan that knows more than TorchRec: a replicated flex table or tier, which stands here as table_row_wise on
  // every node; part of a table.
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
  Perf perf_sum() const;  // component by component over all shards
};

// Cuts the table and estimates every shard: time first, then storage. Errors: PlannerError (other).
ShardingOption estimate_option(const TableSpec& table, int index, ShardingType type, ComputeKernel kernel,
                               const Topology& topology, const EstimateSettings& settings);

}  // namespace shardsim::torchrec
