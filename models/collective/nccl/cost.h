#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
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
  bool nvls_reduces = true;                     // NVSwitches can reduce the type by the operation
  NcclSettings forced;                          // that leave only some algorithms and protocols
  bool collnet = false;                         // the switches of the network reduce; all_reduce by fabric.sharp

  int nodes() const { return group.nodes; }
  std::size_t node_column() const { return static_cast<std::size_t>(std::min(group.nodes, 3) - 1); }
  bool old() const { return constants->era == NcclEra::v2_14; }
};

// The members of a communicator on a cluster, by its cluster key `nccl`.
NcclSetup nccl_setup(const std::vector<int>& ranks, const Cluster& cluster);

// NCCL's estimate of one call: time = latency + bytes / algorithm bandwidth. Launching the kernel is not in it.
struct NcclTime {
  Seconds time;
  Seconds latency;
  double plateau = 1;             // factor in `latency` that raises rings at large sizes
  Bandwidth algorithm_bandwidth;  // bytes of nccl-tests per second, corrections included
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  Bandwidth carried;  // what the kernels' channels carry, where NCCL's estimate counts the graph's alone
  int channels = 0;   // of the algorithm's graph
};

// The time of the algorithm and protocol that NCCL would choose: the least one; ties go to the first in the order Tree,
// Ring, CollnetDirect, CollnetChain, NVLS, NVLSTree, PAT and LL, LL128, Simple. `bytes` as nccl-tests counts them: the
// buffer of a rank for all_reduce and broadcast, the gathered or scattered total for the others. All zero for fewer
// than two ranks or no bytes.
NcclTime nccl_time(CollectiveKind kind, std::int64_t bytes, const NcclSetup& setup);

// By that algorithm and protocol alone, as with NCCL_ALGO and NCCL_PROTO; nothing where NCCL would not run it.
std::optional<NcclTime> nccl_time_by(NcclAlgorithm algorithm, NcclProtocol protocol, CollectiveKind kind,
                                     std::int64_t bytes, const NcclSetup& setup);

// The parts of NCCL's estimate for one kind, algorithm and protocol (NVIDIA/nccl src/graph/tuning.cc,
// ncclTopoTuneModel), for a group of two ranks or more.

// True when NCCL may choose the algorithm and protocol with its default settings.
bool nccl_allows(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup);

// us, before the plateau of rings.
double nccl_latency(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup);

// GB/s of algorithm bandwidth, before the correction of trees; 0: not used.
double nccl_bandwidth(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup);

// The same as the kernels carry it: with the channels that they run, of which each of the graph's gives two or more, at
// the rates of the links where NCCL's search reckons with less.
double nccl_carried(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup);

// Channels of the graph that an algorithm uses.
const NcclChannels& nccl_channels(NcclAlgorithm algorithm, const NcclSetup& setup);

// Ring steps: 2 (n - 1), n - 1 or n.
int nccl_steps(CollectiveKind kind, int ranks);

}  // namespace shardsim
