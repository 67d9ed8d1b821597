#include "accuracy/measurements/shard_roofline.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "accuracy/measurements/least_squares.h"
#include "models/compute/compute_model.h"
#include "study/planning/shard_work.h"

namespace shardsim {
namespace {

GpuSpec with_rates(GpuSpec gpu, const std::vector<double>& logarithms) {
  gpu.kernel_overhead = {std::exp(logarithms[0])};
  gpu.copy_bandwidth = {std::exp(logarithms[1])};
  gpu.lookups_per_ns = std::exp(logarithms[2]);
  gpu.sort_per_lookup = {std::exp(logarithms[3])};
  gpu.sorted_update_efficiency = std::exp(logarithms[4]);
  return gpu;
}

// The best rates that any shard reached, and half of the least times for what comes on top.
std::vector<double> best_of(const std::vector<ShardWork>& work, const std::vector<ShardSeconds>& labels) {
  double least = HUGE_VAL, sort = HUGE_VAL, bytes = 0, lookups = 0, updated = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const ComputeWork lookup = work[i].lookup(), update = work[i].update();
    least = std::min(least, labels[i].forward);
    bytes = std::max(bytes, lookup.hbm_bytes / labels[i].forward);
    lookups = std::max(lookups, lookup.lookups / labels[i].forward);
    updated = std::max(updated, update.hbm_bytes / labels[i].backward);
    sort = std::min(sort, labels[i].backward / std::max(update.lookups, 1.0));
  }
  return {std::log(least / 20), std::log(bytes), std::log(2 * lookups * 1e-9), std::log(sort / 2),
          std::log(2 * updated / bytes)};
}

}  // namespace

GpuSpec calibrated_on_shards(const GpuSpec& prior, const std::vector<ShardWork>& work,
                             const std::vector<ShardSeconds>& labels) {
  const std::unique_ptr<ComputeModel> roofline = make_compute_model(named_map("roofline"));
  const auto residuals = [&](const std::vector<double>& logarithms) {
    const GpuSpec gpu = with_rates(prior, logarithms);
    std::vector<double> result;
    for (std::size_t i = 0; i < work.size(); ++i) {
      const ShardSeconds seconds = work[i].seconds(*roofline, gpu);
      result.push_back(damped(std::log(seconds.forward / labels[i].forward)));
      result.push_back(damped(std::log(seconds.backward / labels[i].backward)));
    }
    return result;
  };
  return with_rates(prior, least_squares(residuals, best_of(work, labels)));
}

}  // namespace shardsim
