#include <algorithm>

#include "base/error.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_launch.h"
#include "validate/execute/kernels/cuda_runs.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim::cuda {
namespace {

__global__ void number_kernel(std::int64_t count, std::uint32_t* numbers) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = static_cast<std::uint32_t>(i);
}

void check_limits(std::int64_t indices, std::int64_t dim) {
  if (indices < (std::int64_t{1} << 31) && dim <= kLargestDim) return;
  throw input_error({}, "a GPU kernel updates at most 2^31 - 1 lookups of rows of 12,288 columns at once",
                    "Use a smaller batch per GPU, or split the table by columns");
}

// Hands out aligned parts of one allocation: first counting, then for real.
struct Parts {
  char* base = nullptr;
  std::size_t used = 0;

  template <typename T>
  void take(T*& part, std::int64_t count) {
    if (base != nullptr) part = reinterpret_cast<T*>(base + used);
    used += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
  }
};

}  // namespace

UpdateWorkspace::UpdateWorkspace(std::int64_t indices, std::int64_t dim) : indices_(indices), dim_(dim) {
  check_limits(indices, dim);
  sort_bytes_ = sorting_bytes(indices);
  const auto place = [&](Parts parts) {
    parts.take(keys_, indices);
    parts.take(sorted_keys_, indices);
    parts.take(numbers_, indices);
    parts.take(values_, indices);
    parts.take(sorted_values_, indices);
    parts.take(starts_, indices);
    parts.take(runs_, 1);
    parts.take(partial_sums_, 2 * blocks_for(indices, kLongRun) * dim);
    parts.take(sort_memory_, static_cast<std::int64_t>(sort_bytes_));
    return parts.used;
  };
  buffer_ = DeviceBuffer(place({}), "the workspace of updates");
  place({buffer_.as<char>()});
  launch("numbering of lookups", number_kernel, {blocks_for(indices, kThreads)}, nullptr, indices, numbers_);
  check(cudaDeviceSynchronize(), "numbering of lookups");
}

}  // namespace shardsim::cuda
