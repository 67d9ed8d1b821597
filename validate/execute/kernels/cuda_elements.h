#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstring>

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

// The machine word of so many bytes.
template <int bytes>
struct Word;
template <>
struct Word<2> {
  using Type = unsigned short;
};
template <>
struct Word<4> {
  using Type = unsigned int;
};
template <>
struct Word<8> {
  using Type = uint2;
};
template <>
struct Word<16> {
  using Type = uint4;
};

// `count` neighbouring elements in one load or store; `from` and `to` are aligned to their size.
template <int count, typename T>
__device__ inline void load(const T* from, float (&to)[count]) {
  const auto word = *reinterpret_cast<const typename Word<sizeof(T) * count>::Type*>(from);
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
  typename Word<sizeof(T) * count>::Type word;
  std::memcpy(&word, elements, sizeof(word));
  *reinterpret_cast<typename Word<sizeof(T) * count>::Type*>(to) = word;
}

}  // namespace shardsim::cuda
