#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace shardsim::cuda {

__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(__half value) {
  return __half2float(value);
}
__device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

// Rounded to the nearest, ties to even.
__device__ inline void from_float(float value, float& to) {
  to = value;
}
__device__ inline void from_float(float value, __half& to) {
  to = __float2half_rn(value);
}
__device__ inline void from_float(float value, __nv_bfloat16& to) {
  to = __float2bfloat16_rn(value);
}

// The machine word of so many bytes: 2, 4, 8 or 16.
template <int bytes>
using Word =
    std::conditional_t<bytes == 2, unsigned short,
                       std::conditional_t<bytes == 4, unsigned int, std::conditional_t<bytes == 8, uint2, uint4>>>;

// `count` neighbouring elements in one load or store; `from` and `to` are aligned to their size.
template <int count, typename T>
__device__ inline void load(const T* from, float (&to)[count]) {
  const auto word = *reinterpret_cast<const Word<sizeof(T) * count>*>(from);
  T elements[count];
  std::memcpy(elements, &word, sizeof(word));
#pragma unroll
  for (int i = 0; i < count; ++i) to[i] = to_float(elements[i]);
}

template <int count, typename T>
__device__ inline void store(const float (&from)[count], T* to) {
  T elements[count];
#pragma unroll
  for (int i = 0; i < count; ++i) from_float(from[i], elements[i]);
  Word<sizeof(T) * count> word;
  std::memcpy(&word, elements, sizeof(word));
  *reinterpret_cast<Word<sizeof(T) * count>*>(to) = word;
}

template <int count, typename T>
__device__ inline void add(const T* from, float (&sum)[count]) {
  float values[count];
  load<count>(from, values);
#pragma unroll
  for (int i = 0; i < count; ++i) sum[i] += values[i];
}

// Adds `width` elements of each of the rows [first, end) in order; row_at(i) says where those of row i are. Several are
// loaded before the first is used.
template <int width, typename RowAt>
__device__ inline void add_rows(std::int64_t first, std::int64_t end, const RowAt& row_at, float (&sum)[width]) {
  constexpr int kInFlight = 4;
  for (; first + kInFlight <= end; first += kInFlight) {
    float rows[kInFlight][width];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) load<width>(row_at(first + k), rows[k]);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
#pragma unroll
      for (int i = 0; i < width; ++i) sum[i] += rows[k][i];
    }
  }
  for (; first < end; ++first) add<width>(row_at(first), sum);
}

// The same, row i times weights[i].
template <int width, typename RowAt>
__device__ inline void add_weighted_rows(std::int64_t first, std::int64_t end, const RowAt& row_at,
                                         const float* weights, float (&sum)[width]) {
  constexpr int kInFlight = 4;
  while (first < end) {
    const int count = end - first < kInFlight ? static_cast<int>(end - first) : kInFlight;
    float rows[kInFlight][width] = {}, weight[kInFlight] = {};
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (k >= count) break;
      load<width>(row_at(first + k), rows[k]);
      weight[k] = weights[first + k];
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
#pragma unroll
      for (int i = 0; i < width; ++i) sum[i] += weight[k] * rows[k][i];
    }
    first += count;
  }
}

}  // namespace shardsim::cuda
