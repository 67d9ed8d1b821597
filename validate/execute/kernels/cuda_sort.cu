#include <thrust/iterator/counting_iterator.h>

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "validate/execute/kernels/cuda_embedding.h"

namespace shardsim::cuda {
namespace {

struct StartsRun {
  const std::uint64_t* keys;
  __host__ __device__ bool operator()(std::uint32_t i) const { return i == 0 || keys[i] != keys[i - 1]; }
};

using Counting = thrust::counting_iterator<std::uint32_t>;

cudaError_t select_starts(void* memory, std::size_t& bytes, const std::uint64_t* keys, std::int64_t count,
                          std::uint32_t* starts, std::uint32_t* runs, Stream stream) {
  return cub::DeviceSelect::If(memory, bytes, Counting(0), starts, runs, static_cast<int>(count), StartsRun{keys},
                               stream);
}

}  // namespace

std::size_t sorting_bytes(std::int64_t count) {
  std::size_t for_sort = 0, for_runs = 0;
  const std::uint64_t* no_keys = nullptr;
  const std::uint32_t* no_values = nullptr;
  check(cub::DeviceRadixSort::SortPairs(nullptr, for_sort, no_keys, static_cast<std::uint64_t*>(nullptr), no_values,
                                        static_cast<std::uint32_t*>(nullptr), static_cast<int>(count)),
        "memory for sorting");
  check(select_starts(nullptr, for_runs, no_keys, count, nullptr, nullptr, nullptr), "memory for sorting");
  return std::max(for_sort, for_runs);
}

void sort_pairs(const std::uint64_t* keys, const std::uint32_t* values, std::int64_t count, int bits,
                const UpdateWorkspace& workspace, Stream stream) {
  std::size_t bytes = workspace.sort_bytes;
  check(cub::DeviceRadixSort::SortPairs(workspace.sort_memory, bytes, keys, workspace.sorted_keys, values,
                                        workspace.sorted_values, static_cast<int>(count), 0, bits, stream),
        "sorting of indices");
}

void sort_lookups(const std::uint64_t* keys, const std::uint32_t* values, std::int64_t count, int bits,
                  const UpdateWorkspace& workspace, Stream stream) {
  sort_pairs(keys, values, count, bits, workspace, stream);
  std::size_t bytes = workspace.sort_bytes;
  check(select_starts(workspace.sort_memory, bytes, workspace.sorted_keys, count, workspace.starts, workspace.runs,
                      stream),
        "finding of equal indices");
}

}  // namespace shardsim::cuda
