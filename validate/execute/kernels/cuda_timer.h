#pragma once

namespace shardsim::cuda {

// Nanoseconds of the GPU's own clock; it ticks about every microsecond on some GPUs, every 32 ns on others.
__device__ inline unsigned long long global_timer() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace shardsim::cuda
