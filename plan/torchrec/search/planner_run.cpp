#include "plan/torchrec/search/planner_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "plan/torchrec/estimate/shard_estimate.h"
#include "plan/torchrec/spec/names.h"

namespace shardsim::torchrec {
namespace {

constexpr double kTrainingBatches = 20;  // batches of ids held while training

// TorchRec rounds the bytes of the whole model and of every sharded module apart, then subtracts.
double dense_bytes(const ReservationSettings& settings, double multiplier, const std::vector<ConstrainedTable>& tables,
                   const EstimateSettings& estimate) {
  if (settings.dense_tensor_estimate.value_or(0) != 0) return *settings.dense_tensor_estimate;
  std::map<std::string, double> module_bytes;
  double sharded = 0;
  for (const auto& [table, constraints] : tables) {
    const double bytes = static_cast<double>(table.rows) * static_cast<double>(table.dim) * table.element_bytes;
    module_bytes[table.module] += bytes;
    sharded += bytes;
  }
  if (estimate.rules.dense_reservation) {
    return std::nearbyint(settings.dense_parameter_bytes * multiplier + settings.dense_buffer_bytes);
  }
  const double parameters = settings.dense_parameter_bytes + sharded;
  double bytes = std::nearbyint(multiplier * parameters + settings.dense_buffer_bytes);
  for (const auto& [module, parameters_of_module] : module_bytes) {
    bytes -= std::nearbyint(multiplier * parameters_of_module);
  }
  return bytes;
}

// Leaves num_poolings out, as TorchRec does.
double kjt_bytes(double batches, const std::vector<ConstrainedTable>& tables, const EstimateSettings& estimate) {
  double ids = 0;
  for (const auto& [table, constraints] : tables) {
    for (std::size_t f = 0; f < table.pooling_factors.size(); ++f) {
      ids += table.pooling_factors[f] * (table.batch_sizes.empty() ? estimate.batch_size : table.batch_sizes.at(f));
    }
  }
  return std::ceil(ids * kIdBytes) * batches;
}

Storage where(Device device, double bytes) {
  const std::int64_t whole = whole_bytes(bytes);
  return device == Device::cpu ? Storage{0, whole} : Storage{whole, 0};
}

PlannerFailure failure_of(const RunResult& result) {
  return result.lowest.fits_in(capacity_of(result.reservation.topology)) ? PlannerFailure::strict_constraints
                                                                         : PlannerFailure::insufficient_storage;
}

// A plan of 2026-08 that has been found, but that its last checks refuse.
void validate(RunResult& result, const RunSettings& settings) {
  if (settings.estimate.version != PlannerVersion::v2026_08) return;
  result.violations = kernel_violations(result.plan, result.space);
  if (!result.violations.empty()) result.failure = PlannerFailure::invalid_compute_kernel;
}

bool by_percentage(ReservationKind kind) {
  return kind != ReservationKind::fixed_absolute && kind != ReservationKind::sku_aware;
}

// Takes off what goes without regard to the model: a share, or bytes, of which no rank has less than none left.
void take_fixed_part(Reservation& result, const ReservationSettings& settings) {
  const auto take = [&](std::int64_t bytes) {
    for (Storage& device : result.topology.devices) device.hbm = std::max<std::int64_t>(0, device.hbm - bytes);
  };
  if (settings.kind == ReservationKind::fixed_absolute) return take(settings.absolute);
  if (settings.kind == ReservationKind::sku_aware) {
    take(settings.model_base.value_or(settings.margin));
    return take(settings.runtime_overhead);
  }
  for (Storage& device : result.topology.devices) {
    device.hbm = static_cast<std::int64_t>((1 - settings.percentage) * static_cast<double>(device.hbm));
  }
}

// Dense part and ids of the batches: what the kind knows of them, whether or not it takes them off.
void measure_model(Reservation& result, const ReservationSettings& settings,
                   const std::vector<ConstrainedTable>& tables, const EstimateSettings& estimate) {
  const bool newest = estimate.version == PlannerVersion::v2026_08;
  const bool inference = settings.kind == ReservationKind::inference;
  const bool fixed =
      settings.kind == ReservationKind::fixed_percentage || settings.kind == ReservationKind::fixed_absolute;
  if (fixed && !newest) return;
  result.itemised = newest || settings.kind == ReservationKind::heuristical;
  result.kjt = where(result.topology.device, kjt_bytes(inference ? 1 : kTrainingBatches, tables, estimate));
  if (fixed || settings.model_base) return;
  result.dense = where(result.topology.device,
                       dense_bytes(settings, inference ? 1 : settings.parameter_multiplier, tables, estimate));
}

// Errors: PlannerError (insufficient_storage).
void require_room(const Reservation& result, const ReservationSettings& settings, const Topology& topology) {
  const std::int64_t left = result.topology.devices.front().hbm, all = topology.devices.front().hbm;
  if (settings.kind == ReservationKind::heuristical && left < 0) {
    throw PlannerError(PlannerFailure::insufficient_storage,
                       fmt::format("the dense part ({} bytes) and the ids of the batches ({} bytes) need more device "
                                   "memory than the {} bytes of a rank less {}",
                                   result.dense.hbm, result.kjt.hbm, all, settings.percentage));
  }
  if (settings.kind != ReservationKind::sku_aware || left > 0) return;
  const std::string base = settings.model_base ? fmt::format("the model's base ({} bytes)", *settings.model_base)
                                               : fmt::format("the margin ({} bytes), the dense part ({} bytes)",
                                                             settings.margin, result.dense.hbm);
  throw PlannerError(PlannerFailure::insufficient_storage,
                     fmt::format("{}, the ids of the batches ({} bytes) and the run-time overhead ({} bytes) need all "
                                 "of the {} bytes of a rank or more",
                                 base, result.kjt.hbm, settings.runtime_overhead, all));
}

}  // namespace

double reserved_share(const ReservationSettings& settings, const Topology& topology) {
  if (by_percentage(settings.kind)) return settings.percentage;
  const std::int64_t bytes = settings.kind == ReservationKind::fixed_absolute
                                 ? settings.absolute
                                 : settings.model_base.value_or(settings.margin) + settings.runtime_overhead;
  const std::int64_t all = topology.devices.front().hbm;
  return all == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(all);
}

Reservation reserve(const ReservationSettings& settings, const Topology& topology,
                    const std::vector<ConstrainedTable>& tables, const EstimateSettings& estimate) {
  Reservation result;
  result.topology = topology;
  take_fixed_part(result, settings);
  measure_model(result, settings, tables, estimate);
  const bool reports_only =
      settings.kind == ReservationKind::fixed_percentage || settings.kind == ReservationKind::fixed_absolute;
  if (reports_only) return result;
  for (Storage& device : result.topology.devices) (device -= result.dense) -= result.kjt;
  require_room(result, settings, topology);
  return result;
}

std::vector<std::string> kernel_violations(const std::vector<ShardingOption>& plan, const SearchSpace& space) {
  std::vector<std::string> found;
  for (const ShardingOption& option : plan) {
    const auto wrong = [&](const std::string& what) {
      found.push_back(fmt::format("table '{}': {}", space.table_of(option).name, what));
    };
    const ComputeKernel kernel = option.kernel;
    if (kernel == ComputeKernel::dense && option.type != ShardingType::data_parallel)
      wrong(fmt::format("kernel dense is for data_parallel, not {}", name_of(option.type)));
    const bool caching = kernel == ComputeKernel::fused_uvm_caching || kernel == ComputeKernel::quant_uvm_caching;
    const double factor = option.load_factor.value_or(0.5);
    if (caching && (factor <= 0 || factor >= 1))
      wrong(fmt::format("kernel {} needs a cache_load_factor between 0 and 1, not {}", name_of(kernel), factor));
    if (option.total.hbm < 0) wrong(fmt::format("{} bytes of device memory", option.total.hbm));
    if (option.total.ddr < 0) wrong(fmt::format("{} bytes of host memory", option.total.ddr));
  }
  return found;
}

RunResult run_planner(const std::vector<ConstrainedTable>& tables, const RunSettings& settings) {
  RunResult result;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  result.lowest = {kMost, kMost, kMost};
  try {
    result.reservation = reserve(settings.reservation, settings.topology, tables, settings.estimate);
  } catch (const PlannerError& error) {
    if (error.failure() != PlannerFailure::insufficient_storage) throw;
    result.failure = error.failure();
    result.reason = error.what();
    return result;
  }
  result.space = enumerate_options(tables, settings.sharders, settings.topology, settings.estimate);
  result.found = result.space.options.empty();
  if (result.found) return result;
  search(result, settings);
  if (!result.found) result.failure = failure_of(result);
  if (result.found) validate(result, settings);
  return result;
}

}  // namespace shardsim::torchrec
