#pragma once

#include "models/collective/nccl/setup.h"

namespace shardsim {

// The parts of NCCL's estimate for one kind, algorithm and protocol (NVIDIA/nccl src/graph/tuning.cc,
// ncclTopoTuneModel), for a group of two ranks or more.

// Whether NCCL may choose it, with its default settings.
bool nccl_allows(NcclKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup);

// us, before the plateau of rings.
double nccl_latency(NcclKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup);

// GB/s of algorithm bandwidth, before the correction of trees; 0: not used.
double nccl_bandwidth(NcclKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup);

// Channels of the graph that an algorithm uses.
const NcclChannels& nccl_channels(NcclAlgorithm algorithm, const NcclSetup& setup);

// Ring steps: 2 (n - 1), n - 1 or n.
int nccl_steps(NcclKind kind, int ranks);

}  // namespace shardsim
