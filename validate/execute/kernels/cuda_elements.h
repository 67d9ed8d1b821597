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

// The elements of a row as they were loaded: half as many registers for those of two bytes as their numbers would take.
template <int width, typename RowAt>
struct Held {
  using Element = std::remove_cv_t<std::remove_pointer_t<std::invoke_result_t<RowAt, int>>>;
  Word<sizeof(Element) * width> word;

  __device__ void load(const Element* from) { word = *reinterpret_cast<const decltype(word)*>(from); }
  __device__ void add_to(float (&sum)[width]) const {
    Element elements[width];
    std::memcpy(elements, &word, sizeof(word));
#pragma unroll
    for (int i = 0; i < width; ++i) sum[i] += to_float(elements[i]);
  }
  __device__ void add_to(float (&sum)[width], float weight) const {
    Element elements[width];
    std::memcpy(elements, &word, sizeof(word));
#pragma unroll
    for (int i = 0; i < width; ++i) sum[i] += weight * to_float(elements[i]);
  }
};

// Adds `width` elements of each of the first `count` rows of a batch in order, or of all `most`; row_at(k) says where
// those of row k are. All are asked for before the first is used.
template <int most, int width, typename RowAt>
__device__ inline void add_batch(int count, const RowAt& row_at, float (&sum)[width]) {
  Held<width, RowAt> held[most];
#pragma unroll
  for (int k = 0; k < most; ++k) {
    if (k < count) held[k].load(row_at(k));
  }
#pragma unroll
  for (int k = 0; k < most; ++k) {
    if (k < count) held[k].add_to(sum);
  }
}

// The same, row k times weight_at(k).
template <int most, int width, typename RowAt, typename WeightAt>
__device__ inline void add_weighted_batch(int count, const RowAt& row_at, const WeightAt& weight_at,
                                          float (&sum)[width]) {
  Held<width, RowAt> held[most];
  float weights[most] = {};
#pragma unroll
  for (int k = 0; k < most; ++k) {
    if (k >= count) continue;
    held[k].load(row_at(k));
    weights[k] = weight_at(k);
  }
#pragma unroll
  for (int k = 0; k < most; ++k) {
    if (k < count) held[k].add_to(sum, weights[k]);
  }
}

}  // namespace shardsim::cuda
