#include <cub/device/device_radix_sort.cuh>

#include "validate/execute/kernels/cuda_embedding.h"

namespace shardsim::cuda {

std::size_t sorting_bytes(std::int64_t count) {
  std::size_t bytes = 0;
  const std::uint64_t* no_keys = nullptr;
  const std::uint32_t* no_values = nullptr;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, no_keys, static_cast<std::uint64_t*>(nullptr), no_values,
                                        static_cast<std::uint32_t*>(nullptr), static_cast<int>(count)),
        "memory for sorting");
  return bytes;
}

void sort_pairs(const std::uint64_t* keys, const std::uint32_t* values, std::int64_t count, int bits,
                const UpdateWorkspace& workspace, Stream stream) {
  std::size_t bytes = workspace.sort_bytes;
  check(cub::DeviceRadixSort::SortPairs(workspace.sort_memory, bytes, keys, workspace.sorted_keys, values,
                                        workspace.sorted_values, static_cast<int>(count), 0, bits, stream),
        "sorting of indices");
}

}  // namespace shardsim::cuda
