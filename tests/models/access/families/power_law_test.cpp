#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/models/access_laws.h"

namespace shardsim::power_law_test {

TEST_CASE("Zipf-Mandelbrot with c: the fitted lengths of the four models") {
  const auto length = [](double c, double q, double s, std::uint64_t rows) {
    return AccessDistribution(law("zipf_mandelbrot", s, q, c), rows, 0).total();
  };
  CHECK(length(688.54, 16650.66, 1.124881, 30'000'000) == doctest::Approx(995.603).epsilon(1e-5));
  CHECK(length(39320, 17078.47, 1.456235, 30'000'000) == doctest::Approx(976.829).epsilon(1e-5));
  CHECK(length(33.2394, 6909.07, 0.94189, 10'000'000) == doctest::Approx(503.331).epsilon(1e-5));
  CHECK(length(1167.08, 14708.31, 1.22144, 10'000'000) == doctest::Approx(481.007).epsilon(1e-5));
}

TEST_CASE("power laws: prefix sums equal sums over single rows") {
  for (const double s : {0.0, 0.5, 0.999999999, 1.0, 1.05, 3.0, 5.9, 8.0, 60.0, 1e5}) {
    CAPTURE(s);
    check_prefix_sums({law("zipf", s), 300'000, 20}, 1e-10);
  }
  for (const double q : {0.0, 0.3, 63.0, 1000.5, 1e9, 1e300}) {
    CAPTURE(q);
    check_prefix_sums({law("zipf_mandelbrot", 1.1, q), 100'000, 20}, 1e-10);
    check_prefix_sums({law("zipf_mandelbrot", 400, q), 100'000, 20}, 1e-10);
  }
}

TEST_CASE("power laws: p falls as (i + q)^-s") {
  const AccessDistribution rows(law("zipf_mandelbrot", 1.5, 10), 1000, 20);
  CHECK(rows.probability(0) / rows.probability(99) == doctest::Approx(std::pow(110.0 / 11.0, 1.5)));
  CHECK(AccessDistribution(law("zipf_mandelbrot", 2, 1, 8), 100, 0).probability(0) == doctest::Approx(2));
  const AccessDistribution zipf(law("zipf", 1), 8000, 20);
  CHECK(zipf.probability(0) / zipf.probability(7999) == doctest::Approx(8000));
  CHECK(zipf.total() == 20);
}

TEST_CASE("piecewise power law: small, flat and steep pieces sum exactly too") {
  AccessSpec spec;
  spec.family = "piecewise_power_law";
  spec.knots = {{1, 2}, {3, 1.5}, {70, 1.5}, {71, -3}, {5000, -3.5}, {5001, -20}, {40'000, -20.5}, {90'000, -300}};
  check_prefix_sums({spec, 90'000, 0}, 1e-12);
  spec.knots = {{50, -1}};
  CHECK(AccessDistribution(spec, 50, 0).total() == doctest::Approx(50 * std::exp(-1.0)).epsilon(1e-14));
}

}  // namespace shardsim::power_law_test
