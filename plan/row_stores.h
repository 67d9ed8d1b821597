#pragma once

#include <string_view>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"

namespace shardsim {

// The store behind a cache in HBM: the node's memory as the device sees it, or a key-value store (FBGEMM's
// SSDTableBatchedEmbeddingBags), which lies in host memory or on SSDs, perhaps with a cache in host memory.
enum class RowStore { none, memory, ssd };

RowStore row_store_of(const Placement& placement);  // none: all but the kernels of key-value stores

// Optimizer states lie beside the rows of virtual tables; those of the kernel key_value are in HBM, of all rows
// (enable_optimizer_offloading, pytorch/torchrec torchrec/distributed/batched_embedding_kernel.py).
bool stores_states(std::string_view kernel);

// Bytes of a row as a key-value store keeps it.
double stored_row_bytes(const Placement& placement, const Workload& workload);

// Shares of a table's rows that the caches hold, in HBM and in the memory of the node.
struct RowCaches {
  double hbm = 1, host = 0;
  bool operator==(const RowCaches&) const = default;
};

// [placement] of a plan. Key-value tables of a rank that are looked up together share their caches, by their bytes; of
// a placement on several ranks it is what the fullest of them has left.
std::vector<RowCaches> row_caches(const std::vector<Placement>& placements, const Workload& workload);

// [rank] Bytes of key-value tables in the memory of a node beside the rows that lie there: their caches.
std::vector<double> host_cache_bytes(const Plan& plan, const Workload& workload, int world_size);

// [rank] Bytes of rows on SSDs, without those of virtual tables: only rows that were met exist there.
std::vector<double> bytes_on_ssd(const Plan& plan, const Workload& workload, int world_size);

}  // namespace shardsim
