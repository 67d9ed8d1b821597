#include "plan/row_stores.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace shardsim {
namespace {

// One group of tables of a rank that FBGEMM looks up together: TorchRec states its caches for all of them. Beside rank,
// kernel and caches: sharding type, kind, module where each has lookups of its own, type of rows, pooling, weights
// (sim/lower/lookup_part.cpp).
using StoreKey = std::tuple<int, std::string, std::optional<Bytes>, Bytes, Strategy, TableKind, std::string, Dtype,
                            std::string, bool>;

const Table& table_of(const Placement& placement, const Workload& workload) {
  return workload.tables[static_cast<std::size_t>(placement.table)];
}

StoreKey key_of(const Placement& placement, const Workload& workload, int rank) {
  const Table& table = table_of(placement, workload);
  const std::string& usual = table.kind == TableKind::pooled ? workload.pooled_module : workload.sequence_module;
  const std::string& module = table.module.empty() ? usual : table.module;
  return {rank,
          placement.compute_kernel,
          placement.most_l1,
          placement.l2,
          placement.strategy,
          table.kind,
          workload.modules_apart ? module : "",
          workload.full_input_exchange() ? table.dtype : Dtype::fp32,
          table.pooling,
          std::ranges::any_of(table.features, &Feature::weighted)};
}

double row_bytes_of(const Placement& placement, const Workload& workload) {
  return static_cast<double>(placement.columns() * dtype_bytes(table_of(placement, workload).dtype));
}

template <typename Visit>
void each_shard(const Placement& placement, Visit visit) {
  const bool cut = placement.shards() > 1;
  for (const std::vector<int>& group : placement.holders)
    for (std::size_t i = 0; i < group.size(); ++i)
      visit(group[i], static_cast<double>(placement.shard_rows(cut ? static_cast<int>(i) : 0)));
}

// Memory that the tables of one group take.
struct StoreBytes {
  double rows = 0;      // that HBM may hold
  double hbm_part = 0;  // as load factors have it
  double stored = 0;
};

using Stores = std::map<StoreKey, StoreBytes>;

Stores stores_of(const std::vector<Placement>& placements, const Workload& workload) {
  Stores stores;
  for (const Placement& placement : placements) {
    if (row_store_of(placement) == RowStore::none) continue;
    const double row = row_bytes_of(placement, workload), stored = stored_row_bytes(placement, workload);
    each_shard(placement, [&](int rank, double rows) {
      StoreBytes& store = stores[key_of(placement, workload, rank)];
      store.rows += rows * row;
      store.hbm_part += placement.cache_load_factor * rows * row;
      store.stored += rows * stored;
    });
  }
  return stores;
}

RowCaches caches_of(const Placement& placement, const Workload& workload, const Stores& stores) {
  RowCaches caches{placement.cache_load_factor, 1};
  const double factor = placement.cache_load_factor;
  each_shard(placement, [&](int rank, double) {
    const StoreBytes& store = stores.at(key_of(placement, workload, rank));
    if (placement.most_l1 && store.hbm_part > 0) {
      const double most = static_cast<double>(placement.most_l1->count);
      caches.hbm = std::min(caches.hbm, factor * std::min(1.0, most / store.hbm_part));
    }
    if (store.stored > 0) caches.host = std::min(caches.host, static_cast<double>(placement.l2.count) / store.stored);
  });
  return caches;
}

}  // namespace

RowStore row_store_of(const Placement& placement) {
  if (replicated(placement.strategy) || !in_key_value_store(placement.compute_kernel)) return RowStore::none;
  return placement.compute_kernel == "dram_virtual_table" ? RowStore::memory : RowStore::ssd;
}

bool stores_states(std::string_view kernel) {
  return kernel.ends_with("_virtual_table");
}

double stored_row_bytes(const Placement& placement, const Workload& workload) {
  const double row = row_bytes_of(placement, workload);
  if (!stores_states(placement.compute_kernel)) return row;
  return row + static_cast<double>(optimizer_row_bytes(workload.optimizer, placement.columns()));
}

std::vector<RowCaches> row_caches(const std::vector<Placement>& placements, const Workload& workload) {
  const Stores stores = stores_of(placements, workload);
  std::vector<RowCaches> caches;
  for (const Placement& placement : placements)
    caches.push_back(row_store_of(placement) == RowStore::none ? RowCaches{hbm_share(placement), 0}
                                                               : caches_of(placement, workload, stores));
  return caches;
}

std::vector<double> host_cache_bytes(const Plan& plan, const Workload& workload, int world_size) {
  std::vector<double> bytes(static_cast<std::size_t>(world_size), 0.0);
  for (const auto& [key, store] : stores_of(plan.placements, workload)) {
    if (std::get<1>(key) == "dram_virtual_table") continue;  // its rows are there
    bytes.at(static_cast<std::size_t>(std::get<int>(key))) +=
        std::min(static_cast<double>(std::get<Bytes>(key).count), store.stored);
  }
  return bytes;
}

std::vector<double> bytes_on_ssd(const Plan& plan, const Workload& workload, int world_size) {
  std::vector<double> bytes(static_cast<std::size_t>(world_size), 0.0);
  for (const Placement& placement : plan.placements) {
    if (row_store_of(placement) != RowStore::ssd || stores_states(placement.compute_kernel)) continue;
    const double row = stored_row_bytes(placement, workload);
    each_shard(placement, [&](int rank, double rows) { bytes.at(static_cast<std::size_t>(rank)) += rows * row; });
  }
  return bytes;
}

}  // namespace shardsim
