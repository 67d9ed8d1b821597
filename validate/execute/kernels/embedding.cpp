#include "validate/execute/kernels/embedding.h"

#include <numeric>

namespace shardsim {

int element_bytes(ElementType type) {
  return type == ElementType::fp32 ? 4 : 2;
}

std::int64_t TableBatch::output_dim() const {
  return std::accumulate(dim.begin(), dim.end(), std::int64_t{0});
}

std::size_t state_elements(RowOptimizer optimizer, std::int64_t rows, std::int64_t dim) {
  if (optimizer == RowOptimizer::rowwise_adagrad) return static_cast<std::size_t>(rows);
  if (optimizer == RowOptimizer::adam) return static_cast<std::size_t>(2 * rows * dim);
  return 0;
}

}  // namespace shardsim
