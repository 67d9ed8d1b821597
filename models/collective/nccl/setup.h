#pragma once

#include <algorithm>
#include <vector>

#include "models/collective/nccl/graph.h"

namespace shardsim {

// All that the formula knows of one communicator. Made once per group and cluster: one time then costs well under a
// microsecond.
struct NcclSetup {
  const NcclConstants* constants = nullptr;
  int capability = 0;  // 80 for "8.0"
  NcclGeneration generation = NcclGeneration::volta;
  NcclGroup group;
  NcclGraphs graphs;
  bool nvswitch = false;
  bool amd = false, x86 = true, power = false;  // the hosts' CPUs
  double nic_latency_us = 0;                    // latency attribute of the NIC in NCCL's topology; verbs NICs have 0
  bool collnet = false;                         // reduction in the switches of the network, off as in NCCL

  int nodes() const { return group.nodes; }
  std::size_t node_column() const { return static_cast<std::size_t>(std::min(group.nodes, 3) - 1); }
  bool old() const { return constants->era == NcclEra::v2_14; }
};

// The members of a communicator on a cluster, by its cluster key `nccl`.
NcclSetup nccl_setup(const std::vector<int>& ranks, const Cluster& cluster);

}  // namespace shardsim
