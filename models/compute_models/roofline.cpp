#include "models/compute_models/roofline.h"

#include <algorithm>

namespace shardsim {
namespace {

Seconds traffic(const ComputeWork& work, const GpuSpec& gpu) {
  return {work.hbm_bytes / gpu.copy_bandwidth.bytes_per_second};
}

Seconds arithmetic(const ComputeWork& work, const GpuSpec& gpu) {
  const auto fp32 = gpu.flops.find("fp32");
  if (work.flops <= 0 || fp32 == gpu.flops.end()) return {0};
  return {work.flops / (fp32->second.per_second * gpu.flops_efficiency)};
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
