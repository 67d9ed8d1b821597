#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tests/models/access_laws.h"

namespace shardsim::log_normal_test {

TEST_CASE("log-normal: p is exp(sigma Phi^-1(1 - (i - 1/2) / rows))") {
  const std::uint64_t n = 1'000'000;
  const AccessDistribution rows(log_normal(2), n, 20);
  const auto quantile = [&](std::uint64_t position) {  // by bisection on the distribution function
    const double tail = (static_cast<double>(position) + 0.5) / static_cast<double>(n);
    double low = -10, high = 10;
    for (int step = 0; step < 100; ++step) {
      const double z = 0.5 * (low + high);
      (0.5 * std::erfc(z / std::numbers::sqrt2) > tail ? low : high) = z;
    }
    return low;
  };
  for (const std::uint64_t i : {0UL, 1UL, 255UL, 256UL, 1000UL, 499'999UL, 500'000UL, 700'000UL, 999'999UL}) {
    CAPTURE(i);
    CHECK(std::log(rows.probability(i) / rows.probability(499'999)) ==
          doctest::Approx(2 * (quantile(i) - quantile(499'999))).epsilon(1e-9));
  }
}

TEST_CASE("log-normal: prefix sums equal sums over single rows within 1e-9") {
  for (const double sigma : {0.01, 0.5, 2.0, 6.0, 20.0}) {
    CAPTURE(sigma);
    check_prefix_sums({log_normal(sigma), 1'000'000, 20}, 1e-9);
  }
  for (const std::uint64_t n : {1UL, 2UL, 255UL, 256UL, 257UL, 512UL, 513UL, 600UL, 5000UL}) {
    CAPTURE(n);
    check_prefix_sums({log_normal(20), n, 1}, 1e-9);
    check_prefix_sums({log_normal(1), n, 1}, 1e-9);
  }
}

TEST_CASE("log-normal: a table of 10^10 rows has the distribution function of accesses of the continuous law") {
  // The share of accesses on the top fraction x of the rows is Phi(sigma - z(x)); for x = 1/2, sigma = 1: Phi(1).
  const AccessDistribution rows(log_normal(1), 10'000'000'000, 20);
  CHECK(rows.prefix(5'000'000'000) / 20 == doctest::Approx(0.841344746).epsilon(1e-7));
}

}  // namespace shardsim::log_normal_test
