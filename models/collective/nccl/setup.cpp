#include "models/collective/nccl/setup.h"

namespace shardsim {

NcclSetup nccl_setup(const std::vector<int>& ranks, const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  NcclSetup setup;
  setup.constants = &nccl_constants(spec.nccl);
  setup.capability = capability_number(spec.gpu.compute_capability);
  setup.generation = nccl_generation(setup.capability, setup.constants->era);
  setup.group = nccl_group(ranks, cluster);
  setup.graphs = nccl_graphs(setup.group, cluster);
  setup.nvswitch = spec.nvlink.kind == NvlinkKind::nvswitch;
  setup.amd = spec.pcie.cpu_vendor == "amd";
  setup.x86 = setup.amd || spec.pcie.cpu_vendor == "intel";
  setup.power = spec.pcie.cpu_vendor == "power";
  return setup;
}

}  // namespace shardsim
