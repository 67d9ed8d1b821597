#include "sim/memory/resident_memory.h"

#include <cmath>

#include "plan/plan.h"

namespace shardsim {
namespace {

std::int64_t rounded_up(double bytes) {
  return static_cast<std::int64_t>(std::ceil(bytes));
}

void add_shard(MemoryAmounts& rank, const Placement& placement, std::uint64_t shard_rows, const Workload& workload) {
  const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
  const auto rows = static_cast<double>(shard_rows);
  const auto row_bytes = static_cast<double>(placement.columns() * dtype_bytes(table.dtype));
  const auto state = static_cast<double>(optimizer_row_bytes(workload.optimizer, placement.columns()));
  rank[MemoryPart::tables] += rounded_up(hbm_share(placement) * rows * row_bytes);
  rank[MemoryPart::optimizer] += rounded_up(hbm_share(placement) * rows * state);
  if (placement.compute_kernel != "fused_uvm_caching") return;
  rank[MemoryPart::cache] += rounded_up(rows * (4 + 16 * kCacheLoadFactor));
}

// An element has the state that a row of one element has: row-wise Adagrad is Adagrad there.
std::int64_t dense_bytes(const Workload& workload) {
  const std::int64_t parameters = workload.dense.parameters.count;
  return parameters + parameters / 4 * optimizer_row_bytes(workload.optimizer, 1);
}

}  // namespace

std::vector<MemoryAmounts> resident_memory(const Plan& plan, const Workload& workload, int world_size) {
  MemoryAmounts everywhere;
  everywhere[MemoryPart::dense] = dense_bytes(workload);
  std::vector<MemoryAmounts> ranks(static_cast<std::size_t>(world_size), everywhere);
  for (const Placement& placement : plan.placements) {
    const bool cut = placement.shards() > 1;
    for (const std::vector<int>& group : placement.holders) {
      for (std::size_t i = 0; i < group.size(); ++i) {
        MemoryAmounts& rank = ranks.at(static_cast<std::size_t>(group[i]));
        add_shard(rank, placement, placement.shard_rows(cut ? static_cast<int>(i) : 0), workload);
      }
    }
  }
  return ranks;
}

}  // namespace shardsim
