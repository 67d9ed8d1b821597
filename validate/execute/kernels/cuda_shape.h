#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace shardsim::cuda {

// How the threads of a kernel are cut: what the host and the kernels both reckon with.

inline constexpr int kThreads = 256;  // per block
inline constexpr unsigned kWarp = 32;

inline std::int64_t blocks_for(std::int64_t items, std::int64_t per_block) {
  return (items + per_block - 1) / per_block;
}

// Threads that share one row of `pieces` pieces: a power of two up to a warp.
__host__ __device__ inline unsigned lanes_for(std::int64_t pieces) {
  unsigned lanes = 1;
  while (lanes < kWarp && lanes < pieces) lanes *= 2;
  return lanes;
}

// The same for a row of `dim` columns, of which a thread takes `width` at a time.
template <int width>
__host__ __device__ inline unsigned lanes_of(std::int64_t dim) {
  return lanes_for((dim + width - 1) / width);
}

}  // namespace shardsim::cuda
