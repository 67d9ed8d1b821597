#include <algorithm>

#include "base/error.h"
#include "models/compute/models/models.h"

namespace shardsim {
namespace {

Seconds traffic(const ComputeWork& work, const GpuSpec& gpu) {
  return {work.hbm_bytes / gpu.copy_bandwidth.bytes_per_second};
}

Seconds arithmetic(const ComputeWork& work, const GpuSpec& gpu) {
  if (work.flops <= 0) return {0};
  const auto rate = gpu.flops.find(work.precision);
  if (rate == gpu.flops.end())
    throw input_error({}, "the GPU " + gpu.model + " states no rate for products in " + work.precision,
                      "Add " + work.precision + " to the gpu's flops, or choose another precision of the dense part");
  return {work.flops / (rate->second.per_second * gpu.flops_efficiency)};
}

Seconds issue(const ComputeWork& work, const GpuSpec& gpu) {
  return {work.lookups / (gpu.lookups_per_ns * 1e9)};
}

Seconds sorted_update(const ComputeWork& work, const GpuSpec& gpu) {
  const Seconds sort = work.lookups * gpu.sort_per_lookup;
  return gpu.sorted_update_kernels * gpu.kernel_overhead + sort +
         std::max((1 / gpu.sorted_update_efficiency) * traffic(work, gpu), work.host_link);
}

class Roofline final : public ComputeModel {
 public:
  Seconds seconds(const ComputeWork& work, const GpuSpec& gpu) const override {
    if (work.fixed.value > 0) return work.fixed;
    if (work.kind == ComputeWork::Kind::update && work.sorted_update) return sorted_update(work, gpu);
    return gpu.kernel_overhead +
           std::max({traffic(work, gpu), arithmetic(work, gpu), issue(work, gpu), work.host_link});
  }
};

}  // namespace

std::unique_ptr<ComputeModel> make_roofline(MapReader&) {
  return std::make_unique<Roofline>();
}

}  // namespace shardsim
