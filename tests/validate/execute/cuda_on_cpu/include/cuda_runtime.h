#pragma once

#include <cuda_runtime_api.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define __shared__
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  dim3(unsigned x_size, unsigned y_size = 1, unsigned z_size = 1) : x(x_size), y(y_size), z(z_size) {}
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}

template <typename T>
T __ldcg(const T* from) {
  return *from;
}

// Indices and dimensions of the fiber that is running.
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

void __syncthreads();
void __syncwarp(unsigned mask);
void __threadfence();
unsigned atomicAdd(unsigned* to, unsigned value);
unsigned __ballot_sync(unsigned mask, int holds);
inline int __popc(unsigned bits) {
  return std::popcount(bits);
}

// The 8 bytes that the thread `from` of this one's warp gives, each thread of the mask its own; and this one's place.
std::uint64_t shardsim_shuffled(unsigned mask, std::uint64_t own, unsigned from);
unsigned shardsim_lane();

template <typename T>
T shardsim_value_from(unsigned mask, T value, unsigned from) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = shardsim_shuffled(mask, bits, from);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const unsigned lanes = static_cast<unsigned>(width);
  return shardsim_value_from(mask, value, shardsim_lane() / lanes * lanes + static_cast<unsigned>(from) % lanes);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int offset, int width = 32) {
  const unsigned lanes = static_cast<unsigned>(width), lane = shardsim_lane();
  return shardsim_value_from(mask, value, lane / lanes * lanes + ((lane % lanes) ^ static_cast<unsigned>(offset)));
}
unsigned long long shardsim_global_timer();  // nanoseconds, as %globaltimer
