// Notes on keys that the case states and that what it is simulated with does not read.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "models/compute/compute_model.h"
#include "models/compute/learned_model.h"
#include "models/software/software.h"
#include "plan/row_stores.h"
#include "study/notes/notes.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

std::string has_no_effect(const std::vector<std::string>& keys, const std::string& of) {
  return fmt::format("{} of '{}' {} no effect", join(keys), of, keys.size() == 1 ? "has" : "have");
}

// Those of the software's keys about kernels that are not as its preset has them.
std::vector<std::string> kernel_keys(const Software& software) {
  const std::vector<Software>& presets = shipped_software().presets;
  const auto preset = std::ranges::find(presets, software.name, &Software::name);
  if (preset == presets.end()) return {};
  std::vector<std::string> keys;
  if (software.kernel_fixed != preset->kernel_fixed) keys.emplace_back("kernel_fixed");
  if (software.in_situ != preset->in_situ) keys.emplace_back("in_situ");
  if (software.update_factor != preset->update_factor) keys.emplace_back("update_factor");
  return keys;
}

std::string roofline_keys_note(const Case& item) {
  const std::vector<std::string> keys =
      has_kernel_constants(item.compute_model) ? roofline_keys(item.cluster.gpu) : std::vector<std::string>{};
  if (keys.empty()) return "";
  const char* const owner = item.software ? "software" : "compute_model";
  return fmt::format(
      "{}: the compute model gpu_kernels has rates of kernels in a table of its own. Set {}.in_situ for products and "
      "{}.update_factor for updates, name a table as compute_model.file, or take the compute model roofline.",
      has_no_effect(keys, item.cluster.name), owner, owner);
}

std::string kernel_start_note(const Case& item) {
  const GpuSpec& gpu = item.cluster.gpu;
  const bool stated = gpu.kernel_overhead != usual_gpu(gpu).kernel_overhead;
  if (!stated || !item.software || !has_kernel_constants(item.compute_model)) return "";
  return fmt::format("{}: the software states the start of a kernel. Set software.kernel_fixed.",
                     has_no_effect({"gpu.kernel_overhead"}, item.cluster.name));
}

std::string software_kernels_note(const Case& item) {
  if (!item.software || has_kernel_constants(item.compute_model)) return "";
  const std::vector<std::string> keys = kernel_keys(*item.software);
  if (keys.empty()) return "";
  return fmt::format(
      "{}: the compute model {} does not read the software's kernels. Take the compute model gpu_kernels, or set "
      "cluster.gpu.kernel_overhead, flops_efficiency and sorted_update_efficiency.",
      has_no_effect(keys, item.software->name), compute_model_name(item.compute_model));
}

bool has_stored_rows(const Known& known) {
  return known.prepared != nullptr && std::ranges::any_of(known.prepared->plan.placements, [](const Placement& each) {
           return row_store_of(each) != RowStore::none;
         });
}

std::string ssd_note(const Known& known) {
  const auto on_ssd = [](const Placement& placement) { return row_store_of(placement) == RowStore::ssd; };
  if (known.prepared == nullptr || !known.item.cluster.host.ssd) return "";
  if (std::ranges::any_of(known.prepared->plan.placements, on_ssd)) return "";
  const SsdSpec &stated = *known.item.cluster.host.ssd, usual;
  std::vector<std::string> keys;
  if (stated.read_bandwidth != usual.read_bandwidth) keys.emplace_back("host.ssd.read_bandwidth");
  if (stated.write_bandwidth != usual.write_bandwidth) keys.emplace_back("host.ssd.write_bandwidth");
  if (stated.iops != usual.iops) keys.emplace_back("host.ssd.iops");
  if (stated.capacity) keys.emplace_back("host.ssd.capacity");
  if (keys.empty()) return "";
  return fmt::format(
      "{} here: no table of the plan lies on SSDs. Planners put one there where constraints allow the compute kernel "
      "key_value.",
      has_no_effect(keys, known.item.cluster.name));
}

// Memory behind the link to a GPU is as fast as the link, whatever its own rate is.
std::string host_memory_rate_note(const Known& known) {
  const Case& item = known.item;
  if (item.cluster.host.memory_bandwidth == HostSpec{}.memory_bandwidth || has_stored_rows(known)) return "";
  return fmt::format(
      "{} on times: rows in host memory come at the rate of the link, host.gpu_link_bandwidth. TorchRec's planner "
      "alone reads it.",
      has_no_effect({"host.memory_bandwidth"}, item.cluster.name));
}

std::string host_factor_note(const Case& item) {
  if (item.cluster.host.time_factor == 1 || item.software) return "";
  return fmt::format(
      "{}: without 'software' no host is simulated. Write software: NAME (see 'shardsim list software').",
      has_no_effect({"host.time_factor"}, item.cluster.name));
}

std::string currency_note(const Case& item) {
  if (item.cluster.currency.empty() || item.cluster.cost_per_gpu_hour) return "";
  return fmt::format("{}: it is that of a price, and there is none. Set cost_per_gpu_hour.",
                     has_no_effect({"currency"}, item.cluster.name));
}

// Kernels of optimizers are known one by one in PyTorch alone.
std::string dense_optimizer_note(const Case& item) {
  const std::string& stated = item.workload.dense.optimizer;
  if (stated.empty() || (item.software && item.software->pytorch)) return "";
  return fmt::format(
      "{}: only software with dense_kernels: pytorch runs the optimizer of the dense part by itself (pytorch_eager, "
      "pytorch_graph).",
      has_no_effect({"dense.optimizer"}, item.workload.name));
}

bool places_any(const Known& known, bool (*is_so)(const Placement&, const Table&)) {
  const std::vector<Table>& tables = known.item.workload.tables;
  return std::ranges::any_of(known.prepared->plan.placements, [&](const Placement& placement) {
    return is_so(placement, tables[static_cast<std::size_t>(placement.table)]);
  });
}

std::string output_exchange_note(const Known& known) {
  const Workload& workload = known.item.workload;
  if (known.prepared == nullptr || workload.output_exchange == Workload{}.output_exchange) return "";
  const auto has_partial_sums = [](const Placement& placement, const Table& table) {
    return table.kind == TableKind::pooled && placement.strategy == Strategy::row_wise;
  };
  if (places_any(known, has_partial_sums)) return "";
  return fmt::format("{} here: no pooled table of the plan is row_wise, and only those have partial sums to exchange.",
                     has_no_effect({"output_exchange"}, workload.name));
}

std::string cache_policy_note(const Known& known) {
  const Workload& workload = known.item.workload;
  if (known.prepared == nullptr || workload.cache_policy == Workload{}.cache_policy) return "";
  const auto has_cache = [](const Placement& placement, const Table&) {
    return placement.compute_kernel == "fused_uvm_caching";
  };
  if (places_any(known, has_cache)) return "";
  return fmt::format(
      "{} here: no table of the plan has a cache. Planners give one where constraints allow the compute kernel "
      "fused_uvm_caching.",
      has_no_effect({"cache_policy"}, workload.name));
}

// Times of the host that operations of an iteration may take.
struct HostKey {
  const char* name;
  Seconds Software::*time;
};
constexpr HostKey kHostKeys[] = {{"launch", &Software::launch},
                                 {"send_receive", &Software::send_receive},
                                 {"graph_launch", &Software::graph_launch},
                                 {"graph_node", &Software::graph_node},
                                 {"operator_forward", &Software::operator_forward},
                                 {"operator_backward", &Software::operator_backward},
                                 {"optimizer_sgd", &Software::optimizer_sgd},
                                 {"optimizer_adagrad", &Software::optimizer_adagrad},
                                 {"optimizer_adam", &Software::optimizer_adam}};
constexpr int kMostRanksLoweredTwice = 512;  // a Program is lowered in 0.1 s up to there

// Times that the case states and that no operation of its iteration takes: with those of the preset the Program is the
// same.
std::string idle_times_note(const Known& known) {
  const Case& item = known.item;
  if (known.prepared == nullptr || !item.software || known.prepared->cluster.world_size() > kMostRanksLoweredTwice)
    return "";
  const std::vector<Software>& presets = shipped_software().presets;
  const auto preset = std::ranges::find(presets, item.software->name, &Software::name);
  if (preset == presets.end()) return "";
  std::vector<std::string> idle;
  for (const HostKey& key : kHostKeys) {
    if ((*item.software).*key.time == (*preset).*key.time) continue;
    Software usual = *item.software;
    usual.*key.time = (*preset).*key.time;
    if (known.prepared->program_with(usual) == known.prepared->program()) idle.emplace_back(key.name);
  }
  if (idle.empty()) return "";
  return fmt::format(
      "{} here: no operation of the iteration takes {}, as it has no such part, or times of modules, tables or a graph "
      "hold it.",
      has_no_effect(idle, item.software->name), idle.size() == 1 ? "this time" : "these times");
}

}  // namespace

Notes idle_keys_note(const Known& known) {
  const Case& item = known.item;
  return {roofline_keys_note(item),
          kernel_start_note(item),
          software_kernels_note(item),
          host_memory_rate_note(known),
          host_factor_note(item),
          dense_optimizer_note(item),
          currency_note(item),
          output_exchange_note(known),
          cache_policy_note(known),
          idle_times_note(known),
          ssd_note(known)};
}

}  // namespace shardsim
