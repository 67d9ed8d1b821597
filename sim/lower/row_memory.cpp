#include "sim/lower/row_memory.h"

#include <array>
#include <string_view>
#include <utility>

#include "sim/lower/lower.h"

namespace shardsim {
namespace {

// The memory in which the rows of a table lie, by its compute kernel.
constexpr std::array<std::pair<std::string_view, RowMemory>, 8> kMemories{
    {{"dense", RowMemory::hbm},
     {"fused", RowMemory::hbm},
     {"fused_uvm", RowMemory::host},
     {"fused_uvm_caching", RowMemory::cached},
     {"key_value", RowMemory::cached},
     {"dram_virtual_table", RowMemory::cached},
     {"ssd_virtual_table", RowMemory::cached},
     {"dram_ssd_virtual_table", RowMemory::cached}}};

// FBGEMM fills no cache ahead that holds the rows which are used most ("Only LRU cache policy supports
// prefetch_pipeline", fbgemm_gpu/split_table_batched_embeddings_ops_training.py).
void check_cache(const GroupMember& member, const Workload& workload) {
  if (memory_of(member) != RowMemory::cached || member.latest_cached) return;
  if (!workload.fetches_ahead()) return;
  throw input_error(member.table->place,
                    "table '" + member.table->name +
                        "' has a cache of the rows that are used most (cache_policy: lfu), which FBGEMM does not fill "
                        "ahead, as the pipeline " +
                        workload.pipeline + " does",
                    "Choose cache_policy: lru, or another pipeline");
}

}  // namespace

RowMemory memory_of(const GroupMember& member) {
  if (replicated(member.placement->strategy)) return RowMemory::hbm;
  const std::string& kernel = member.placement->compute_kernel;
  for (const auto& [name, memory] : kMemories) {
    const bool holds_all = memory == RowMemory::cached && member.caches.hbm >= 1;
    if (name == kernel) return holds_all ? RowMemory::hbm : memory;
  }
  throw input_error(
      member.table->place,
      "table '" + member.table->name + "' has the compute kernel '" + kernel + "', which is not simulated",
      "Choose dense, fused, fused_uvm, fused_uvm_caching, or key_value and its like");
}

RowStore store_of(const GroupMember& member) {
  return memory_of(member) == RowMemory::cached ? row_store_of(*member.placement) : RowStore::none;
}

void check_memory(const GroupMember& member, const Workload& workload) {
  check_cache(member, workload);
  if (!workload.hugectr_rows() && !workload.hugectr_pipeline()) return;
  if (memory_of(member) == RowMemory::hbm) return;
  throw input_error(member.table->place,
                    "table '" + member.table->name + "' has the compute kernel '" + member.placement->compute_kernel +
                        "', but HugeCTR's embeddings keep all rows in device memory",
                    "Choose fused or dense");
}

std::vector<std::string> lowered_kernels() {
  std::vector<std::string> names;
  for (const auto& [name, memory] : kMemories) names.emplace_back(name);
  return names;
}

}  // namespace shardsim
