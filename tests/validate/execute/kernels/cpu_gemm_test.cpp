#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "validate/execute/kernels/cpu_kernels.h"

namespace shardsim::cpu_gemm_test {
namespace {

std::vector<float> random_reals(std::int64_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(rng.uniform() - 0.5));
  return values;
}

}  // namespace

TEST_CASE("a matrix product comes to the sums in double precision, edges of tiles and panels included") {
  const std::int64_t shapes[][3] = {{1, 1, 1}, {4, 32, 256}, {5, 33, 257}, {17, 100, 300}, {3, 7, 0}, {64, 64, 513}};
  for (const auto& shape : shapes) {
    const std::int64_t m = shape[0], n = shape[1], k = shape[2];
    const std::vector<float> a = random_reals(m * k, 1), b = random_reals(k * n, 2);
    std::vector<float> alone(static_cast<std::size_t>(m * n), 9), many = alone;
    gemm(m, n, k, a.data(), b.data(), alone.data(), 1);
    gemm(m, n, k, a.data(), b.data(), many.data(), 3);
    CHECK(alone == many);
    int wrong = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (std::int64_t d = 0; d < k; ++d) {
          sum += static_cast<double>(a[i * k + d]) * b[d * n + j];
          magnitude += std::abs(static_cast<double>(a[i * k + d]) * b[d * n + j]);
        }
        wrong += std::abs(alone[i * n + j] - sum) <= 0x1p-24 * static_cast<double>(k + 1) * magnitude ? 0 : 1;
      }
    CHECK(wrong == 0);
  }
}

}  // namespace shardsim::cpu_gemm_test
