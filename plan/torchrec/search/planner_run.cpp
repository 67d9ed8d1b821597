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

}  // namespace

Reservation reserve(const ReservationSettings& settings, const Topology& topology,
                    const std::vector<ConstrainedTable>& tables, const EstimateSettings& estimate) {
  Reservation result;
  result.topology = topology;
  for (Storage& device : result.topology.devices) {
    device.hbm = static_cast<std::int64_t>((1 - settings.percentage) * static_cast<double>(device.hbm));
  }
  if (settings.kind == ReservationKind::fixed_percentage) return result;
  const bool training = settings.kind == ReservationKind::heuristical;
  result.itemised = training;
  result.dense =
      where(topology.device, dense_bytes(settings, training ? settings.parameter_multiplier : 1, tables, estimate));
  result.kjt = where(topology.device, kjt_bytes(training ? kTrainingBatches : 1, tables, estimate));
  for (Storage& device : result.topology.devices) (device -= result.dense) -= result.kjt;
  if (training && result.topology.devices.front().hbm < 0) {
    throw PlannerError(
        PlannerFailure::insufficient_storage,
        fmt::format("the dense part ({} bytes) and the ids of the batches ({} bytes) need more device "
                    "memory than the {} bytes of a rank less {}",
                    result.dense.hbm, result.kjt.hbm, topology.devices.front().hbm, settings.percentage));
  }
  return result;
}

RunResult run_planner(const std::vector<ConstrainedTable>& tables, const RunSettings& settings) {
  RunResult result;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  result.lowest = {kMost, kMost};
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
  return result;
}

}  // namespace shardsim::torchrec
