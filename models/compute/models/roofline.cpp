#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "models/compute/compute_model.h"

namespace shardsim {
namespace {

Seconds traffic(const ComputeWork& work, const GpuSpec& gpu) {
  return {work.hbm_bytes / gpu.copy_bandwidth.bytes_per_second};
}

Seconds arithmetic(const ComputeWork& work, const GpuSpec& gpu) {
  if (work.flops <= 0) return {0};
  return {work.flops / (product_rate(work, gpu).per_second * gpu.flops_efficiency)};
}

Seconds issue(const ComputeWork& work, const GpuSpec& gpu) {
  return {work.lookups / (gpu.lookups_per_ns * 1e9)};
}

Seconds sorted_update(const ComputeWork& work, const GpuSpec& gpu) {
  const Seconds sort = (work.indexed ? 0.0 : work.lookups) * gpu.sort_per_lookup;
  return gpu.sorted_update_kernels * gpu.kernel_overhead + sort +
         std::max((1 / gpu.sorted_update_efficiency) * traffic(work, gpu), work.host_link);
}

class Roofline final : public ComputeModel {
 public:
  Seconds seconds(const ComputeWork& work, const GpuSpec& gpu) const override {
    if (work.fixed.value > 0) return work.fixed;
    if (work.kind == ComputeWork::Kind::update && work.sorted_update) return sorted_update(work, gpu);
    if (work.kind == ComputeWork::Kind::sort)
      return gpu.kernel_overhead + work.lookups * gpu.sort_per_lookup + traffic(work, gpu);
    return gpu.kernel_overhead +
           std::max({traffic(work, gpu), arithmetic(work, gpu), issue(work, gpu), work.host_link});
  }
};

}  // namespace

Flops product_rate(const ComputeWork& work, const GpuSpec& gpu) {
  const auto rate = gpu.flops.find(work.precision);
  if (rate != gpu.flops.end()) return rate->second;
  throw input_error({}, "the GPU " + gpu.model + " states no rate for products in " + work.precision,
                    "Add " + work.precision + " to the gpu's flops, or choose another precision of the dense part");
}

std::string outside_fit(const ComputeWork& work, const GpuSpec& gpu) {
  if (!gpu.holds_for || work.fixed.value > 0) return "";
  const WorkRange& range = *gpu.holds_for;
  if (work.lookups > 0 && range.bytes_to) {
    const Bytes bytes{static_cast<std::int64_t>(work.hbm_bytes)};
    if (bytes < range.bytes_from)
      return fmt::format("{} (fitted from {} on)", to_text(bytes), to_text(range.bytes_from));
    if (bytes > *range.bytes_to) return fmt::format("{} (fitted up to {})", to_text(bytes), to_text(*range.bytes_to));
  }
  const double gflop = work.flops / 1e9;
  if (gflop <= 0 || range.gflop_to <= 0) return "";
  if (gflop < range.gflop_from) return fmt::format("{:.3g} GFLOP (fitted from {:.3g} on)", gflop, range.gflop_from);
  return gflop > range.gflop_to ? fmt::format("{:.3g} GFLOP (fitted up to {:.3g})", gflop, range.gflop_to) : "";
}

// The roofline of one operation, alone on its device (docs/formats/measurements.md, gpu constants):
//   kernel_overhead + max(hbm_bytes / copy_bandwidth, flops / (rate of the precision x flops_efficiency),
//                         lookups / lookups_per_ns).
// A sorted exact update (FBGEMM's kind) is several kernels, a sort, and memory traffic at part of the copy rate:
//   sorted_update_kernels x kernel_overhead + lookups x sort_per_lookup
//     + hbm_bytes / (sorted_update_efficiency x copy_bandwidth).
// A sort alone: kernel_overhead + pairs x sort_per_lookup.
// Error (Failure::input): products in a precision whose rate the GPU does not state.
// launch_overhead is host time: kernels queue on their stream and hide it, so it is left out.
std::unique_ptr<ComputeModel> make_roofline(MapReader&) {
  return std::make_unique<Roofline>();
}

}  // namespace shardsim
