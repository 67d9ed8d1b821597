#include <algorithm>
#include <cstring>
#include <vector>

#include "validate/execute/kernels/cpu_kernels.h"
#include "validate/execute/kernels/parallel.h"

namespace shardsim {
namespace {

constexpr std::int64_t kLanes = 16, kTileRows = 4;
constexpr std::int64_t kColumns = 2 * kLanes;  // of a panel
constexpr std::int64_t kDepth = 256;           // of a panel: 32 KiB of b, which stay in the first cache

using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));

// c[kTileRows][kColumns] += a[kTileRows][depth] x panel[depth][kColumns], in registers.
SHARDSIM_VECTOR_CLONES void multiply_tile(const float* a, std::int64_t a_stride, const float* panel, std::int64_t depth,
                                          float* c, std::int64_t c_stride) {
  Vector sum[kTileRows][2];
  for (int r = 0; r < kTileRows; ++r) std::memcpy(sum[r], c + r * c_stride, sizeof(sum[r]));
  for (std::int64_t d = 0; d < depth; ++d) {
    Vector b[2];
    std::memcpy(b, panel + d * kColumns, sizeof(b));
    for (int r = 0; r < kTileRows; ++r) {
      const float factor = a[r * a_stride + d];
      sum[r][0] += factor * b[0];
      sum[r][1] += factor * b[1];
    }
  }
  for (int r = 0; r < kTileRows; ++r) std::memcpy(c + r * c_stride, sum[r], sizeof(sum[r]));
}

// The edges, where no whole tile fits.
void multiply_edge(std::int64_t rows, std::int64_t columns, const float* a, std::int64_t a_stride, const float* panel,
                   std::int64_t depth, float* c, std::int64_t c_stride) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t d = 0; d < depth; ++d)
      for (std::int64_t j = 0; j < columns; ++j) c[r * c_stride + j] += a[r * a_stride + d] * panel[d * kColumns + j];
}

struct Matrices {
  std::int64_t n = 0, k = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
};

void pack_panel(const Matrices& of, std::int64_t first_k, std::int64_t depth, std::int64_t first_column,
                std::int64_t columns, float* panel) {
  for (std::int64_t d = 0; d < depth; ++d)
    std::copy_n(of.b + (first_k + d) * of.n + first_column, columns, panel + d * kColumns);
}

void multiply_panel(const Matrices& of, std::int64_t first_row, std::int64_t end_row, std::int64_t first_k,
                    std::int64_t depth, std::int64_t first_column, std::int64_t columns, const float* panel) {
  for (std::int64_t row = first_row; row < end_row; row += kTileRows) {
    const float* const a = of.a + row * of.k + first_k;
    float* const c = of.c + row * of.n + first_column;
    const std::int64_t rows = std::min(kTileRows, end_row - row);
    if (rows == kTileRows && columns == kColumns) {
      multiply_tile(a, of.k, panel, depth, c, of.n);
    } else {
      multiply_edge(rows, columns, a, of.k, panel, depth, c, of.n);
    }
  }
}

void multiply_rows(const Matrices& of, std::int64_t first_row, std::int64_t end_row) {
  std::fill(of.c + first_row * of.n, of.c + end_row * of.n, 0.0F);
  std::vector<float> panel(static_cast<std::size_t>(kDepth * kColumns));
  for (std::int64_t first_k = 0; first_k < of.k; first_k += kDepth) {
    const std::int64_t depth = std::min(kDepth, of.k - first_k);
    for (std::int64_t column = 0; column < of.n; column += kColumns) {
      const std::int64_t columns = std::min(kColumns, of.n - column);
      pack_panel(of, first_k, depth, column, columns, panel.data());
      multiply_panel(of, first_row, end_row, first_k, depth, column, columns, panel.data());
    }
  }
}

}  // namespace

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, int threads) {
  const Matrices matrices{n, k, a, b, c};
  run_intervals(m, threads, [&](std::int64_t first, std::int64_t end) { multiply_rows(matrices, first, end); });
}

}  // namespace shardsim
