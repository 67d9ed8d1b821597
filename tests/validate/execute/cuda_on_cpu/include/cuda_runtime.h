#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>

#define __global__
#define __device__
#define __host__
#define __shared__

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
float __shfl_xor_sync(unsigned mask, float value, int offset, int width);
unsigned long long shardsim_global_timer();  // nanoseconds, as %globaltimer
