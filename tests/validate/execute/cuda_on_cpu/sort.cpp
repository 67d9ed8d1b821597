#include <algorithm>
#include <numeric>
#include <vector>

#include "validate/execute/kernels/cuda_embedding.h"

namespace shardsim::cuda {

std::size_t sorting_bytes(std::int64_t) {
  return 1;
}

void sort_lookups(const std::uint64_t* keys, const std::uint32_t* values, std::int64_t count, int bits,
                  const UpdateWorkspace& workspace, Stream) {
  const std::uint64_t mask = bits < 64 ? (std::uint64_t{1} << bits) - 1 : ~std::uint64_t{0};
  std::vector<std::size_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return (keys[a] & mask) < (keys[b] & mask); });
  *workspace.runs = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    workspace.sorted_keys[i] = keys[order[i]];
    workspace.sorted_values[i] = values[order[i]];
    if (i > 0 && workspace.sorted_keys[i] == workspace.sorted_keys[i - 1]) continue;
    workspace.starts[(*workspace.runs)++] = static_cast<std::uint32_t>(i);
  }
}

}  // namespace shardsim::cuda
