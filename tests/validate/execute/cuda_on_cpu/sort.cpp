#include <algorithm>
#include <numeric>
#include <vector>

#include "validate/execute/kernels/cuda_work.h"

namespace shardsim::cuda {

std::size_t sorting_bytes(std::int64_t) {
  return 1;
}

void sort_pairs(const std::uint64_t* keys, std::uint64_t* sorted_keys, const std::uint32_t* values,
                std::uint32_t* sorted_values, std::int64_t count, int bits, const SortMemory&, Stream) {
  const std::uint64_t mask = bits < 64 ? (std::uint64_t{1} << bits) - 1 : ~std::uint64_t{0};
  std::vector<std::size_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return (keys[a] & mask) < (keys[b] & mask); });
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted_keys[i] = keys[order[i]];
    sorted_values[i] = values[order[i]];
  }
}

void find_runs(const std::uint64_t* sorted_keys, std::int64_t count, std::uint32_t* starts, std::uint32_t* runs,
               const SortMemory&, Stream) {
  *runs = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == 0 || sorted_keys[i] != sorted_keys[i - 1]) starts[(*runs)++] = static_cast<std::uint32_t>(i);
  }
}

}  // namespace shardsim::cuda
