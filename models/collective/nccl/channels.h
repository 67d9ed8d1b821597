#pragma once

#include <vector>

#include "models/collective/nccl/constants.h"

namespace shardsim {

// NCCL's graph channels: parallel rings (or NVLS heads), each at one speed. GB/s.
struct NcclChannels {
  int count = 0;
  double bw_intra = 0;  // per channel, inside a node
  double bw_inter = 0;  // per channel, through a NIC
  double total(bool intra) const { return count * (intra ? bw_intra : bw_inter); }
  bool operator==(const NcclChannels&) const = default;
};

// What bounds the rings of a group on one of its nodes. GB/s, one direction.
struct RingLimits {
  double widest = 0;           // GPU to NIC path over several nodes, GPU to GPU path on one
  double gpu_total = 0;        // of all NVLinks of a GPU, or its PCIe port if that is more
  std::vector<double> orders;  // of each ring order that shares no link with another; empty: one GPU, nothing binds
  std::vector<double> nics;    // GPU to NIC path of each NIC in use; empty on one node
};

// The channel search of NVIDIA/nccl src/graph/search.cc (ncclTopoCompute) in short: from the first speed of the list
// that fits the widest path, count the channels that fit; go on while the next speed is above .49 of the best; the
// first best channels x speed wins; stop at the GPU's total. Fast channels are then doubled at half speed.
// `count` is 0 when not even the slowest speed fits.
NcclChannels search_channels(const RingLimits& limits, int capability, NcclEra era);

// NVLS: one channel per head (GPU, or NIC in use), each of which loads every GPU's port once and its own once more.
// Only from sm90, and none for fewer than two heads.
NcclChannels nvls_channels(int heads, const RingLimits& limits, int capability, NcclEra era);

}  // namespace shardsim
