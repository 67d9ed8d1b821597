#include "study/schema/specimens.h"

namespace shardsim {
namespace {

// One table of 4 rows and 8 columns on 2 nodes of 2 GPUs.
std::string entry(const std::string& type, const std::string& ranks, const std::string& shards) {
  return "{sharding_type: " + type + ", compute_kernel: fused, ranks: " + ranks + ", shards: " + shards + "}";
}

std::string shard(int row, int column, int rows, int columns, int rank) {
  return "{shard_offsets: [" + std::to_string(row) + ", " + std::to_string(column) + "], shard_sizes: [" +
         std::to_string(rows) + ", " + std::to_string(columns) + "], placement: 'rank:" + std::to_string(rank) +
         "/cuda:" + std::to_string(rank % 2) + "'}";
}

std::string plan(const std::string& table) {
  return "{schema: shardsim.plan/1, plan: {ebc: {t: " + table + "}}}";
}

constexpr const char* kHash = "hash: {name: feistel_splitmix/1, seed: 1}";

}  // namespace

std::string plan_workload() {
  return "{schema: shardsim.workload/1, name: toy, batch_per_gpu: 32, "
         "tables: [{name: t, rows: 4, dim: 8, kind: pooled, pooling_factor: 1}]}";
}

std::string plan_cluster() {
  return "{schema: shardsim.cluster/1, name: toy, nodes: 2, gpu: {model: toy, count: 2, compute_capability: '8.0', "
         "hbm: 16 GiB, hbm_bandwidth: 1000 GB/s, sm_count: 100, flops: {fp32: 10 TFLOP/s}}, nvlink: {kind: switch, "
         "links_per_gpu: 1, per_link: 100 GB/s}, nics: {per_gpu: 1, rate: 80 Gbit/s}}";
}

std::vector<std::string> plan_specimens() {
  const std::string rows = "[" + shard(0, 0, 2, 8, 0) + ", " + shard(2, 0, 2, 8, 1) + "]";
  const std::string columns = "[" + shard(0, 0, 4, 4, 0) + ", " + shard(0, 4, 4, 4, 1) + "]";
  const std::string blocks = "[" + shard(0, 0, 2, 4, 0) + ", " + shard(2, 0, 2, 4, 1) + ", " + shard(0, 4, 2, 4, 0) +
                             ", " + shard(2, 4, 2, 4, 1) + "]";
  const std::string ours = std::string(", rows: 4, dim: 8, order: popularity, ") + kHash;
  const std::string table_wise = entry("table_wise", "[1]", "[" + shard(0, 0, 4, 8, 1) + "]");
  return {
      plan(table_wise),
      "{plan: {ebc: {t: " + table_wise + "}}}",
      plan(entry("row_wise", "[0, 1]", rows)),
      plan(entry("table_row_wise", "[0, 1]", rows)),
      plan(entry("column_wise", "[0, 1]", columns)),
      plan(entry("table_column_wise", "[0, 1]", columns)),
      plan(entry("grid_shard", "[0, 1, 0, 1]", blocks)),
      plan("{sharding_type: data_parallel, compute_kernel: dense, ranks: 0-3}"),
      plan("{sharding_type: flex" + ours + ", replica_groups: [0-1, 2-3]}"),
      plan("{sharding_type: row_tiers" + ours + ", tiers: [{rows: [0, 1], strategy: data_parallel, ranks: 0-3}, " +
           "{rows: [1, 2], strategy: flex, replica_groups: [0-1, 2-3]}, {rows: [2, 4], strategy: row_wise, ranks: " +
           "0-3}]}")};
}

SpecimenValues plan_values() {
  return {{"hash", {"{name: feistel_splitmix/1, seed: 1}"}},
          {"cache_params", {"{load_factor: 0.5}", "{load_factor: null}"}},
          {"ranks", {"0-1", "[0, 1]"}},
          {"compute_kernel", {"fused", "dense", "fused_uvm_caching"}}};
}

}  // namespace shardsim
