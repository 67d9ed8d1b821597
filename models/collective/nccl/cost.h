#pragma once

#include <cstdint>
#include <optional>

#include "models/collective/nccl/setup.h"

namespace shardsim {

// NCCL's estimate of one call: time = latency + bytes / algorithm bandwidth. Launching the kernel is not in it.
struct NcclTime {
  Seconds time;
  Seconds latency;
  double plateau = 1;             // factor in `latency` that raises rings at large sizes
  Bandwidth algorithm_bandwidth;  // bytes of nccl-tests per second, corrections included
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  int channels = 0;  // of the algorithm's graph
  GraphSource graph = GraphSource::fallback;
};

// What NCCL would choose: the least time; of equals the first in the order Tree, Ring, CollnetDirect, CollnetChain,
// NVLS, NVLSTree, PAT and LL, LL128, Simple. `bytes` as nccl-tests counts them: the buffer of a rank for all_reduce and
// broadcast, the gathered or scattered total for the others. All zero for fewer than two ranks or no bytes.
NcclTime nccl_time(NcclKind kind, std::int64_t bytes, const NcclSetup& setup);

// By that algorithm and protocol alone, as with NCCL_ALGO and NCCL_PROTO; nothing where NCCL would not run it.
std::optional<NcclTime> nccl_time_by(NcclAlgorithm algorithm, NcclProtocol protocol, NcclKind kind, std::int64_t bytes,
                                     const NcclSetup& setup);

}  // namespace shardsim
