#pragma once

#include <cuda_runtime.h>

#include "validate/execute/kernels/cuda_shape.h"

namespace shardsim::cuda {

inline constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

// Neighbouring threads of a warp that work on one row together. Blocks have one dimension.
struct Group {
  unsigned lanes;   // a power of two up to a warp
  unsigned lane;    // of this thread
  unsigned number;  // of the group in its block

  __device__ explicit Group(unsigned size) : lanes(size), lane(threadIdx.x & (size - 1)), number(threadIdx.x / size) {}

  __device__ unsigned in_warp() const { return threadIdx.x % kWarp / lanes; }
  __device__ unsigned mask() const { return lanes == kWarp ? kWholeWarp : ((1U << lanes) - 1U) << in_warp() * lanes; }
  // Returns the sum of one number of each thread of the group.
  __device__ float sum(float value) const {
    for (unsigned offset = lanes / 2; offset > 0; offset /= 2) {
      value += __shfl_xor_sync(mask(), value, static_cast<int>(offset));
    }
    return value;
  }
};

// The largest of the numbers that the threads of a warp have.
__device__ inline int warp_most(int value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const int other = __shfl_xor_sync(kWholeWarp, value, offset);
    value = other > value ? other : value;
  }
  return value;
}

}  // namespace shardsim::cuda
