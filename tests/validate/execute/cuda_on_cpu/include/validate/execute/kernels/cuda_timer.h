#pragma once

// Stands before validate/execute/kernels/cuda_timer.h.

#include <cuda_runtime.h>

namespace shardsim::cuda {

inline unsigned long long global_timer() {
  return shardsim_global_timer();
}

}  // namespace shardsim::cuda
