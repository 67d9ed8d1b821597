#pragma once

#include "plan/plan.h"

namespace shardsim {

// Rows of host memory that a cache in HBM holds: TorchRec's default cache_load_factor (pytorch/torchrec
// torchrec/distributed/planner/constants.py).
inline constexpr double kCacheLoadFactor = 0.2;

// Share of the placement's rows that is kept in HBM.
inline double hbm_share(const Placement& placement) {
  if (replicated(placement.strategy)) return 1;
  if (placement.compute_kernel == "fused_uvm") return 0;
  return placement.compute_kernel == "fused_uvm_caching" ? kCacheLoadFactor : 1;
}

// Rows of either of these kernels all lie in the memory of the node; a cache holds copies.
inline bool on_host(const Placement& placement) {
  return hbm_share(placement) < 1;
}

}  // namespace shardsim
