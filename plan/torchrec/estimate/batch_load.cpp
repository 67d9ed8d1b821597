#include <fmt/format.h>

#include <algorithm>

#include "plan/torchrec/estimate/shard_estimate.h"
#include "plan/torchrec/spec/names.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {
namespace {

void require_equal_lengths(const TableSpec& table) {
  const std::size_t features = table.pooling_factors.size();
  const bool poolings = table.num_poolings.empty() || table.num_poolings.size() == features;
  const bool batches = table.batch_sizes.empty() || table.batch_sizes.size() == features;
  if (poolings && batches) return;
  throw PlannerError(
      PlannerFailure::other,
      fmt::format("table '{}': {} pooling factors, {} num_poolings, {} batch sizes; one per feature is due", table.name,
                  features, table.num_poolings.size(), table.batch_sizes.size()));
}

}  // namespace

// A feature with less than one id per bag has empty bags, which version 2026-08 takes off the bags of pooled tables.
BatchLoad batch_load(const TableSpec& table, const EstimateSettings& settings) {
  require_equal_lengths(table);
  const bool leave_out_empty = settings.version == PlannerVersion::v2026_08 && table.pooled;
  BatchLoad load;
  for (std::size_t f = 0; f < table.pooling_factors.size(); ++f) {
    const double poolings = table.num_poolings.empty() ? 1.0 : table.num_poolings[f];
    const double batch = table.batch_sizes.empty() ? settings.batch_size : table.batch_sizes[f];
    const double factor = table.pooling_factors[f];
    load.inputs += factor * poolings * batch;
    load.bags += (leave_out_empty ? std::min(1.0, factor) * poolings : poolings) * batch;
  }
  return load;
}

double inputs_per_shard(const BatchLoad& load, ShardingType type, const Topology& topology) {
  if (!in_rows(type)) return load.inputs;
  return load.inputs / (type == ShardingType::row_wise ? topology.world_size : topology.group_size());
}

// Products from left to right in doubles: the row types divide by the ranks and multiply by them again, and a byte may
// hang on it.
BufferBytes buffer_bytes(const TableSpec& table, const BatchLoad& load, ShardingType type, const Topology& topology,
                         std::int64_t rows, std::int64_t cols, double element_bytes) {
  const double inputs = inputs_per_shard(load, type, topology);
  const double outputs = table.pooled ? load.bags : inputs;
  if (type == ShardingType::data_parallel) {
    return {whole_bytes(inputs * kIdBytes), whole_bytes(outputs * static_cast<double>(table.dim) * element_bytes)};
  }
  if (in_rows(type) && (rows == 0 || cols == 0)) return {};
  const double world = topology.world_size;
  return {whole_bytes(inputs * world * kIdBytes),
          whole_bytes(outputs * world * static_cast<double>(cols) * element_bytes)};
}

}  // namespace shardsim::torchrec
