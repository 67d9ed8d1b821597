#include "plan/torchrec/spec/topology.h"

#include <algorithm>
#include <cmath>

namespace shardsim::torchrec {
namespace {

std::optional<double> on_accelerator(double hbm, ComputeKernel kernel) {
  if (kernel == ComputeKernel::dense) return 0.5 * hbm;
  if (kernel == ComputeKernel::fused || kernel == ComputeKernel::quant) return hbm;
  return std::nullopt;
}

std::optional<double> on_cuda(const Topology& topology, ComputeKernel kernel, double ratio, bool prefetch) {
  const double link = topology.hbm_to_ddr_bandwidth;
  switch (kernel) {
    case ComputeKernel::fused_uvm:
    case ComputeKernel::quant_uvm:
      return link / 10;
    case ComputeKernel::fused_uvm_caching:
      if (prefetch) return topology.hbm_bandwidth;
      [[fallthrough]];
    case ComputeKernel::quant_uvm_caching:
      return (ratio * topology.hbm_bandwidth + (1 - ratio) * link) / 10;
    case ComputeKernel::key_value:
      return topology.ssd_bandwidth.value_or(link);
    case ComputeKernel::ssd_virtual_table:
    case ComputeKernel::dram_virtual_table:
    case ComputeKernel::dram_ssd_virtual_table:
      return link;
    case ComputeKernel::fused_triton:
      return topology.hbm_bandwidth;
    default:
      return on_accelerator(topology.hbm_bandwidth, kernel);
  }
}

}  // namespace

void set_capacity(Topology& topology, std::int64_t hbm, std::int64_t ddr) {
  const std::int64_t device_hbm = topology.device == Device::cpu ? 0 : hbm > 0 ? hbm : kHbmCap;
  const std::int64_t device_ssd = topology.ssd_bandwidth ? kSsdCap : 0;
  topology.devices.assign(static_cast<std::size_t>(topology.world_size),
                          {device_hbm, ddr > 0 ? ddr : kDdrCap, device_ssd});
}

Topology as_seen_by(PlannerVersion version, Topology topology) {
  if (version == PlannerVersion::v2026_08) return topology;
  topology.ssd_bandwidth.reset();
  for (Storage& device : topology.devices) device.ssd = 0;
  return topology;
}

Storage capacity_of(const Topology& topology) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  Storage sum;
  for (const Storage& device : topology.devices) {
    sum += device;
    sum = {std::min(sum.hbm, kMost), std::min(sum.ddr, kMost), std::min(sum.ssd, kMost)};
  }
  return sum;
}

double collective_bandwidth(const Topology& topology, int local, int world, CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce) return topology.inter_host_bandwidth * local;
  return world <= local ? topology.intra_host_bandwidth : topology.inter_host_bandwidth;
}

std::optional<double> kernel_bandwidth(const Topology& topology, ComputeKernel kernel,
                                       std::optional<double> caching_ratio, bool prefetch_pipeline) {
  if (kernel == ComputeKernel::customized_kernel) return std::nullopt;
  switch (topology.device) {
    case Device::cpu:
      return on_accelerator(topology.ddr_bandwidth, kernel);
    case Device::mtia:
    case Device::tpu:
      return on_accelerator(topology.hbm_bandwidth, kernel);
    case Device::cuda:
      break;
  }
  return on_cuda(topology, kernel, caching_ratio.value_or(kCachingRatio), prefetch_pipeline);
}

// Long division until the quotient has more bits than a double, then the remainder as a sticky bit; the conversion from
// 128 bits rounds once.
double exact_ratio(Wide numerator, Wide denominator) {
  constexpr Wide kEnough = Wide{1} << 55;
  Wide quotient = numerator / denominator;
  Wide rest = numerator % denominator;
  int shift = 0;
  while (rest != 0 && quotient < kEnough && shift < 200) {
    rest <<= 1;
    quotient <<= 1;
    ++shift;
    if (rest >= denominator) {
      rest -= denominator;
      quotient |= 1;
    }
  }
  if (rest != 0) quotient |= 1;
  return std::ldexp(static_cast<double>(quotient), -shift);
}

std::int64_t whole_bytes(double bytes) {
  if (bytes <= 0x1.0p62) return static_cast<std::int64_t>(std::ceil(bytes));
  throw PlannerError(PlannerFailure::other, "a table or its batch takes more than 2^62 bytes");
}

}  // namespace shardsim::torchrec
