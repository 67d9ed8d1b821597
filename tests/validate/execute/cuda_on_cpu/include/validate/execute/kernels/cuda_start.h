#pragma once

// Stands before validate/execute/kernels/cuda_start.h.

#include <cuda_runtime.h>

#include "tests/validate/execute/cuda_on_cpu/fibers.h"
#include "tests/validate/execute/cuda_on_cpu/streams.h"

namespace shardsim::cuda {

template <typename Kernel, typename... Arguments>
void start(Kernel kernel, const dim3& grid, const dim3& block, std::size_t, cudaStream_t stream,
           const Arguments&... arguments) {
  on_cpu::launch_kernel(stream, [=] { on_cpu::run_grid(grid, block, [&] { kernel(arguments...); }); });
}

inline unsigned long long global_timer() {
  return shardsim_global_timer();
}

}  // namespace shardsim::cuda
