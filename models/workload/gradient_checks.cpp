// Checks of a workload's dense gradients: those that several batches add up, and those of tables that are not sharded.

#include <fmt/format.h>

#include <algorithm>

#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

// Names a setting of the workload that PyTorch does not have; "" if there is none.
std::string beside_pytorch(const Workload& workload) {
  if (workload.hugectr_pipeline()) return "pipeline: hugectr";
  if (workload.embedding_kernels != "fused") return "embedding_kernels: " + workload.embedding_kernels;
  return workload.dense.all_reduce.one_call ? "dense.all_reduce.calls: one" : "";
}

void check_accumulate(MapReader& reader, const Workload& workload) {
  if (workload.accumulate == 1) return;
  const Place place = reader.place_of("accumulate");
  if (const std::string other = beside_pytorch(workload); !other.empty())
    throw input_error(place, fmt::format("accumulated gradients are PyTorch's, and cannot be used with {}", other),
                      "Leave that out, or 'accumulate'");
  if (workload.dense.measured)
    throw input_error(place,
                      "dense.measured is the time of an iteration with its optimizer, so it does not say how long one "
                      "without it takes",
                      "State dense.layers in its place, or leave 'accumulate' out");
}

[[noreturn]] void refuse_unsharded(const Table& table, const std::string& wrong, const std::string& remedy) {
  throw input_error(table.place, fmt::format("table '{}' is not sharded, and {}", table.name, wrong), remedy);
}

// Keys of TorchRec's modules, which such a table is in none of.
void check_unsharded(const Table& table) {
  if (table.dtype != Dtype::fp32)
    refuse_unsharded(table, "its rows are " + dtype_name(table.dtype), "Write dtype: fp32, or shard it");
  const auto has_batch = [](const Feature& feature) { return feature.batch.has_value(); };
  const std::string key = !table.module.empty()                            ? "module"
                          : table.index_dedup                              ? "index_dedup"
                          : table.wire_forward || table.wire_backward      ? "wire_dtype"
                          : std::ranges::any_of(table.features, has_batch) ? "batch"
                                                                           : "";
  if (!key.empty())
    refuse_unsharded(table, fmt::format("'{}' is of TorchRec's modules", key),
                     fmt::format("Leave '{}' out, or 'sharded'", key));
}

}  // namespace

void check_gradients(MapReader& reader, const Workload& workload) {
  check_accumulate(reader, workload);
  for (const Table& table : workload.tables) {
    if (table.sharded) continue;
    check_unsharded(table);
    if (const std::string other = beside_pytorch(workload); !other.empty())
      refuse_unsharded(table, "DDP's replicas cannot be used with " + other, "Leave that out, or 'sharded'");
    if (workload.dense.measured)
      refuse_unsharded(table, "dense.measured does not say what of its time the table takes",
                       "State dense.layers in its place, or leave 'sharded' out");
  }
}

}  // namespace shardsim
