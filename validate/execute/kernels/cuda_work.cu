#include <algorithm>

#include "validate/execute/kernels/cuda_launch.h"
#include "validate/execute/kernels/cuda_start.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim::cuda {
namespace {

__global__ void pass_kernel(std::int64_t nanoseconds) {
  const unsigned long long start = global_timer();
  while (global_timer() - start < static_cast<unsigned long long>(nanoseconds)) {
  }
}

__global__ void empty_kernel() {}

template <typename From, typename To>
__global__ void convert_kernel(const From* from, std::int64_t count, To* to) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] = static_cast<To>(from[i]);
}

constexpr int kReadsInFlight = 4;

// Past the multiprocessors' own caches: what is read again comes from L2.
__global__ void read_kernel(const uint4* from, std::int64_t words, int passes, std::uint32_t* sink) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::uint32_t sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + (kReadsInFlight - 1) * step < words; i += kReadsInFlight * step) {
      uint4 held[kReadsInFlight];
#pragma unroll
      for (int k = 0; k < kReadsInFlight; ++k) held[k] = __ldcg(from + i + k * step);
#pragma unroll
      for (int k = 0; k < kReadsInFlight; ++k) sum += held[k].x ^ held[k].y ^ held[k].z ^ held[k].w;
    }
    for (; i < words; i += step) {
      const uint4 word = __ldcg(from + i);
      sum += word.x ^ word.y ^ word.z ^ word.w;
    }
    sum = sum * 5 + static_cast<std::uint32_t>(pass);  // no pass is the same as the one before
  }
  if (sum == 0x9E3779B9U) sink[0] = sum;  // hardly ever, but the compiler cannot know
}

}  // namespace

void pass(std::int64_t nanoseconds, Stream stream) {
  launch("a measured duration", pass_kernel, {1, 1, dim3(1), 0}, stream, nanoseconds);
}

void do_nothing(Stream stream) {
  launch("an empty kernel", empty_kernel, {1, 1, dim3(32), 0}, stream);
}

void narrow_ids(const std::int64_t* from, std::int64_t count, std::int32_t* to, Stream stream) {
  launch("narrowing of ids", convert_kernel<std::int64_t, std::int32_t>, {blocks_for(count, kThreads)}, stream, from,
         count, to);
}

void widen_ids(const std::int32_t* from, std::int64_t count, std::int64_t* to, Stream stream) {
  launch("widening of ids", convert_kernel<std::int32_t, std::int64_t>, {blocks_for(count, kThreads)}, stream, from,
         count, to);
}

void read(const void* from, std::int64_t bytes, int passes, std::uint32_t* sink, Stream stream) {
  const std::int64_t words = bytes / 16;
  const std::int64_t blocks = std::min<std::int64_t>(blocks_for(words, kThreads), 8 * multiprocessors());
  launch("reading of memory", read_kernel, {blocks}, stream, static_cast<const uint4*>(from), words, passes, sink);
}

}  // namespace shardsim::cuda
