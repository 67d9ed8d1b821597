#pragma once

#include "plan/plan.h"

namespace shardsim {

// Share of the placement's rows that is kept in HBM.
inline double hbm_share(const Placement& placement) {
  if (replicated(placement.strategy)) return 1;
  if (placement.compute_kernel == "fused_uvm") return 0;
  return placement.compute_kernel == "fused_uvm_caching" ? placement.cache_load_factor : 1;
}

// Rows of either of these kernels all lie in the memory of the node; a cache holds copies.
inline bool on_host(const Placement& placement) {
  return !replicated(placement.strategy) && placement.compute_kernel.starts_with("fused_uvm");
}

}  // namespace shardsim
