#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/models/access_laws.h"

namespace shardsim::expected_distinct_test {

TEST_CASE("expected_distinct: uniform rows give E (1 - (1 - 1/E)^n)") {
  // Worked values of a V100 kernel study: 128 x 8 lookups of 1,000 rows, 2048 x 100 of 1,000,000.
  CHECK(AccessDistribution(AccessSpec{}, 1000, 8).expected_distinct(0, 1000, 1024) ==
        doctest::Approx(641.0).epsilon(1e-4));
  CHECK(AccessDistribution(AccessSpec{}, 1'000'000, 100).expected_distinct(0, 1'000'000, 204'800) ==
        doctest::Approx(185'189.8).epsilon(1e-6));
}

TEST_CASE("expected_distinct: within 1e-3 of the sum over single rows") {
  const std::uint64_t n = 200'000;
  const std::vector<AccessDistribution> all = {{law("zipf", 1.05), n, 20},
                                               {law("zipf", 3), n, 20},
                                               {log_normal(3), n, 20},
                                               {law("zipf_mandelbrot", 1.2, 50), n, 1}};
  for (const AccessDistribution& rows : all) {
    for (const std::uint64_t first : {0UL, 1000UL}) {
      const double mass = rows.sum(first, n);
      for (const double draws : {0.5, 1.0, 30.0, 5e3, 1e6, 1e9}) {
        const double exact = brute(first, n, [&](std::uint64_t i) {
          return -std::expm1(draws * std::log1p(-std::min(1.0, rows.probability(i) / mass)));
        });
        CAPTURE(draws);
        CHECK(rows.expected_distinct(first, n, draws) == doctest::Approx(exact).epsilon(1e-3));
      }
    }
  }
}

TEST_CASE("expected_distinct: limits") {
  const AccessDistribution rows = rm1();
  CHECK(rows.expected_distinct(5, 6, 3) == doctest::Approx(1));
  CHECK(rows.expected_distinct(5, 5, 3) == 0);
  CHECK(rows.expected_distinct(0, 100, 0) == 0);
  CHECK(rows.expected_distinct(0, 1000, 1e12) == doctest::Approx(1000));
  CHECK(rows.expected_distinct(0, 30'000'000, 1) == doctest::Approx(1).epsilon(1e-3));
  CHECK(AccessDistribution(listed({1, 0, 0}), 3, 0).expected_distinct(1, 3, 10) == 0);
}

}  // namespace shardsim::expected_distinct_test
