#include "validate/execute/devices/cpu_dense.h"

#include <algorithm>
#include <cstring>

#include "validate/execute/kernels/cpu_gemm.h"

namespace shardsim {
namespace {

constexpr std::int64_t kSide = 128;                    // of the square matrices of one product
constexpr std::size_t kBlock = std::size_t{16} << 20;  // bytes of a copy before it starts over: beyond the caches

}  // namespace

// Whole products; the rest is a product of fewer rows.
void CpuDense::compute(double flops) {
  const double of_row = 2.0 * kSide * kSide;
  std::int64_t rows = static_cast<std::int64_t>(flops / of_row + 0.5);
  if (rows <= 0) return;
  a_.resize(kSide * kSide, 1.0F);
  b_.resize(kSide * kSide, 1.0F);
  c_.resize(kSide * kSide);
  for (; rows > 0; rows -= kSide) {
    gemm(std::min(rows, kSide), kSide, kSide, a_.data(), b_.data(), c_.data(), threads_);
  }
}

void CpuDense::move(double bytes) {
  std::size_t left = static_cast<std::size_t>(bytes / 2);
  if (left == 0) return;
  from_.resize(std::max(from_.size(), std::min(left, kBlock)));
  to_.resize(from_.size());
  while (left > 0) {
    const std::size_t part = std::min(left, from_.size());
    std::memcpy(to_.data(), from_.data(), part);
    left -= part;
  }
}

}  // namespace shardsim
