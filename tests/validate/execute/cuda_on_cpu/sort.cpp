#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/validate/execute/cuda_on_cpu/streams.h"
#include "validate/execute/kernels/cuda_embedding.h"

namespace shardsim::cuda {

std::size_t sorting_bytes(std::int64_t) {
  return 1;
}

void sort_pairs(const std::uint64_t* keys, const std::uint32_t* values, std::int64_t count, int bits,
                const UpdateWorkspace& of, Stream stream) {
  on_cpu::enqueue(stream, [=, sorted_keys = of.sorted_keys, sorted_values = of.sorted_values] {
    const std::uint64_t mask = bits < 64 ? (std::uint64_t{1} << bits) - 1 : ~std::uint64_t{0};
    std::vector<std::size_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return (keys[a] & mask) < (keys[b] & mask); });
    for (std::size_t i = 0; i < order.size(); ++i) {
      sorted_keys[i] = keys[order[i]];
      sorted_values[i] = values[order[i]];
    }
  });
}

}  // namespace shardsim::cuda
