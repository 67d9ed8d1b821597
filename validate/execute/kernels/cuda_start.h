#pragma once

#include <cuda_runtime.h>

namespace shardsim::cuda {

// The launch itself, apart from the rest so that tests can put a CPU's in its place.
template <typename Kernel, typename... Arguments>
void start(Kernel kernel, const dim3& grid, const dim3& block, std::size_t shared_bytes, cudaStream_t stream,
           const Arguments&... arguments) {
  kernel<<<grid, block, shared_bytes, stream>>>(arguments...);
}

// Nanoseconds of the GPU's own clock; it ticks about every microsecond on some GPUs, every 32 ns on others.
__device__ inline unsigned long long global_timer() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace shardsim::cuda
