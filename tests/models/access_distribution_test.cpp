#include "models/access_distribution.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace shardsim {
namespace {

// The FlexShard models: knots at 0.05, 0.3, 1, 6 and 100 % of the rows, fitted to the paper's Table 5.
AccessSpec five_knots(double rows, const std::vector<double>& ln_p) {
  const double fractions[] = {0.0005, 0.003, 0.01, 0.06, 1};
  AccessSpec spec;
  spec.family = "piecewise_power_law";
  for (std::size_t j = 0; j < 5; ++j) spec.knots.push_back({std::round(fractions[j] * rows), ln_p[j]});
  return spec;
}

AccessDistribution rm1() {
  return {five_knots(3e7, {-4.932015, -6.392700, -7.966999, -9.649575, -12.819952}), 30'000'000, 0};
}

AccessDistribution huge() {
  AccessSpec spec;
  spec.family = "piecewise_power_law";
  spec.knots = {{15'000, -4.932015}, {90'000, -6.392700}, {300'000, -7.966999}, {1'800'000, -9.649575}, {1e10, -18}};
  return {spec, 10'000'000'000, 0};
}

AccessSpec law(const char* family, double s, double q = 0, double c = 0) {
  AccessSpec spec;
  spec.family = family;
  spec.s = s;
  spec.q = q;
  spec.c = c;
  return spec;
}

AccessSpec log_normal(double sigma) {
  AccessSpec spec;
  spec.family = "log_normal";
  spec.sigma = sigma;
  return spec;
}

AccessSpec listed(const std::vector<double>& p) {
  AccessSpec spec;
  spec.family = "explicit";
  spec.p = p;
  return spec;
}

// Sum over single rows, compensated (Neumaier).
template <typename Term>
double brute(std::uint64_t first, std::uint64_t end, Term term) {
  double sum = 0, lost = 0;
  for (std::uint64_t i = first; i < end; ++i) {
    const double t = term(i), next = sum + t;
    lost += std::abs(sum) >= std::abs(t) ? (sum - next) + t : (t - next) + sum;
    sum = next;
  }
  return sum + lost;
}

// prefix() against single rows at many n; `tolerance` is relative to the whole.
void check_prefix_sums(const AccessDistribution& rows, double tolerance) {
  double sum = 0, lost = 0;
  std::uint64_t next_check = 1;
  for (std::uint64_t i = 0; i < rows.rows(); ++i) {
    const double t = rows.probability(i), next = sum + t;
    lost += (sum - next) + t;
    sum = next;
    if (i + 1 != next_check && i + 1 != rows.rows()) continue;
    CAPTURE(i + 1);
    CHECK(std::abs(rows.prefix(i + 1) - (sum + lost)) <= tolerance * rows.total());
    next_check = 1 + next_check * 9 / 8;
  }
}

void check_error(const AccessSpec& spec, std::uint64_t rows, double length, const char* fragment) {
  const auto build = [&] { return AccessDistribution(spec, rows, length, {"w.yaml", 7, 3}); };
  CHECK_THROWS_WITH_AS(build(), doctest::Contains(fragment), Error);
  CHECK_THROWS_WITH_AS(build(), doctest::Contains("w.yaml:7:3: "), Error);
}

}  // namespace

TEST_CASE("RM-1 in closed form equals the compensated sum over its 30 million rows") {
  const AccessDistribution rows = rm1();
  CHECK(rows.total() == doctest::Approx(960.9387738647).epsilon(1e-12));
  const double sum = brute(0, rows.rows(), [&](std::uint64_t i) { return rows.probability(i); });
  CHECK(sum == doctest::Approx(960.9387738647).epsilon(1e-12));
}

TEST_CASE("piecewise power law: ln p at the knots is as given, constant before the first") {
  const AccessDistribution rows = rm1();
  CHECK(std::log(rows.probability(0)) == doctest::Approx(-4.932015));
  CHECK(rows.probability(14'999) == rows.probability(0));
  CHECK(std::log(rows.probability(89'999)) == doctest::Approx(-6.392700));
  CHECK(std::log(rows.probability(29'999'999)) == doctest::Approx(-12.819952));
  // Half way between two knots in ln rank is half way in ln p.
  const double middle = std::sqrt(15'000.0 * 90'000.0);
  CHECK(std::log(rows.probability(static_cast<std::uint64_t>(middle) - 1)) ==
        doctest::Approx((-4.932015 - 6.392700) / 2).epsilon(1e-5));
}

TEST_CASE("RM-1: rows at the breakpoints of the FlexShard equations and their coverage") {
  // p_mem = (6 - 1/32) / 4096, p_comm = 1 / (6 * 4096); n_A = 100,058 and n_C = 2,707,293 rows.
  const AccessDistribution rows = rm1();
  CHECK(std::abs(static_cast<double>(rows.count_at_least(1.45721435546875e-3)) - 100'058) <= 2);
  CHECK(std::abs(static_cast<double>(rows.count_at_least(1.0 / (6 * 4096))) - 2'707'293) <= 2);
  CHECK(100 * rows.prefix(346'176) / rows.total() == doctest::Approx(52.498).epsilon(1e-5));
  CHECK(100 * rows.sum(100'032, 100'032 + 1'184'448) / rows.total() == doctest::Approx(30.604).epsilon(2e-5));
}

TEST_CASE("a table of 10^10 rows: length, coverage and breakpoints") {
  const AccessDistribution rows = huge();
  CHECK(rows.total() == doctest::Approx(1836.1363).epsilon(1e-7));
  CHECK(100 * rows.prefix(346'176) / rows.total() == doctest::Approx(27.475).epsilon(2e-5));
  CHECK(100 * rows.prefix(100'032) / rows.total() == doctest::Approx(19.258).epsilon(3e-5));
  CHECK(std::abs(static_cast<double>(rows.count_at_least(1.0 / (6 * 4096))) - 2'894'251) <= 2);
  CHECK(rows.prefix(10'000'000'000) == rows.total());
}

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

TEST_CASE("uniform: every row has L / rows") {
  const AccessDistribution rows(AccessSpec{}, 1000, 20);
  CHECK(rows.probability(0) == 0.02);
  CHECK(rows.probability(999) == 0.02);
  CHECK(rows.prefix(500) == doctest::Approx(10).epsilon(1e-15));
  CHECK(rows.total() == 20);
  CHECK(rows.count_at_least(0.02) == 1000);
  CHECK(rows.count_at_least(0.0200001) == 0);
}

TEST_CASE("explicit: sums and counts of what is listed") {
  const AccessDistribution rows(listed({3, 1, 1, 0.5, 0, 0}), 6, 0);
  CHECK(rows.total() == 5.5);
  CHECK(rows.prefix(2) == 4);
  CHECK(rows.prefix(3) == 5);
  CHECK(rows.sum(2, 6) == 1.5);
  CHECK(rows.count_at_least(1) == 3);
  CHECK(rows.count_at_least(0.6) == 3);
  CHECK(rows.count_at_least(0) == 6);
  CHECK(rows.position_at(3.5) == 1);
  CHECK(rows.position_at(5.25) == 3);
}

TEST_CASE("count_at_least is exact: rows at the threshold count, the next one does not") {
  const std::vector<AccessDistribution> all = {
      rm1(), huge(), {law("zipf", 1.05), 10'000'000'000, 100}, {log_normal(2), 10'000'000'000, 100}};
  for (const AccessDistribution& rows : all) {
    for (const std::uint64_t i : {20'000UL, 100'057UL, 299'999UL, 1'000'000UL, 2'000'000UL}) {
      const std::uint64_t count = rows.count_at_least(rows.probability(i));
      CHECK(count == i + 1);
      CHECK(rows.probability(count - 1) >= rows.probability(i));
      CHECK(rows.probability(count) < rows.probability(i));
    }
    CHECK(rows.count_at_least(0) == rows.rows());
    CHECK(rows.count_at_least(2 * rows.probability(0)) == 0);
    CHECK(rows.count_at_least(std::nan("")) == 0);
  }
}

TEST_CASE("position_at inverts the prefix sum") {
  const AccessDistribution rows = huge();
  for (const double share : {0.0, 1e-9, 0.1, 0.5, 0.9, 0.999999}) {
    const double mass = share * rows.total();
    const std::uint64_t i = rows.position_at(mass);
    CHECK(rows.prefix(i) <= mass);
    CHECK(rows.prefix(i + 1) > mass);
  }
  CHECK(rows.position_at(-1) == 0);
  CHECK(rows.position_at(2 * rows.total()) == rows.rows() - 1);
}

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

TEST_CASE("a given length must fit an absolute law, or rescale it") {
  AccessSpec spec = listed({3, 1});
  CHECK(AccessDistribution(spec, 2, 4.0003).total() == 4);
  check_error(spec, 2, 4.001, "add up to 4");
  spec.rescale = true;
  const AccessDistribution rows(spec, 2, 8);
  CHECK(rows.total() == 8);
  CHECK(rows.probability(0) == 6);
}

TEST_CASE("impossible distributions are refused with place") {
  check_error(law("zipf", 1), 100, 0, "average_length");
  check_error(law("zipf", 1), 100, INFINITY, "not finite");
  check_error(law("zipf", -1), 100, 20, "'s' is -1");
  check_error(law("zipf", 1), 0, 20, "0 rows");
  check_error(law("zipf_mandelbrot", 1, INFINITY), 100, 20, "'q' is inf");
  check_error(law("zipf_mandelbrot", 0, 0, 1e308), 1000, 0, "sum of the access distribution is inf");
  check_error(law("zipf_mandelbrot", 300, 1e9, 1), 1000, 0, "sum of the access distribution is 0");
  check_error(log_normal(0), 100, 20, "'sigma' is 0");
  check_error(log_normal(21), 100, 20, "'sigma' is 21");
  check_error(listed({1, 2}), 2, 0, "not sorted");
  check_error(listed({1, -2}), 2, 0, "is -2");
  check_error(listed({1, 2, 3}), 2, 0, "lists 3 rows");
  check_error(listed({0, 0}), 2, 0, "sum of the access distribution is 0");
  AccessSpec unknown;
  unknown.family = "zip";
  check_error(unknown, 10, 1, "unknown access family 'zip'");
}

TEST_CASE("impossible knots are refused") {
  AccessSpec spec;
  spec.family = "piecewise_power_law";
  check_error(spec, 10, 0, "no knots");
  spec.knots = {{0, 1}, {10, 0}};
  check_error(spec, 10, 0, "at rank 0");
  spec.knots = {{1.5, 1}, {10, 0}};
  check_error(spec, 10, 0, "at rank 1.5");
  spec.knots = {{1, 1}, {11, 0}};
  check_error(spec, 10, 0, "at rank 11");
  spec.knots = {{1, 1}, {9, 0}};
  check_error(spec, 10, 0, "last access knot is at rank 9");
  spec.knots = {{5, 1}, {5, 0}, {10, 0}};
  check_error(spec, 10, 0, "does not lie behind");
  spec.knots = {{1, 0}, {10, 1}};
  check_error(spec, 10, 0, "ln_p rises");
  spec.knots = {{1, 1000}, {10, 0}};
  check_error(spec, 10, 0, "sum of the access distribution is inf");
}

TEST_CASE("observed shares stretch the planned prefix sum between the given points") {
  // RM-1: payload and shares that the paper's Table 6 gives.
  const AccessDistribution planned = rm1();
  const ObservedAccess observed{927.376709, {{100'064, 0.387861}, {346'144, 0.536714}, {1'284'608, 0.693861}}, "paper"};
  const double length = 927.376709;
  CHECK(observed.sum(planned, 0, 30'000'000) == doctest::Approx(length).epsilon(1e-12));
  CHECK(observed.sum(planned, 0, 346'144) == doctest::Approx(0.536714 * length).epsilon(1e-12));
  CHECK(observed.sum(planned, 1'284'608, 30'000'000) == doctest::Approx((1 - 0.693861) * length).epsilon(1e-12));
  const double part = planned.sum(346'144, 500'000) / planned.sum(346'144, 1'284'608);
  CHECK(observed.sum(planned, 346'144, 500'000) == doctest::Approx(part * (0.693861 - 0.536714) * length));
  CHECK(observed.sum(planned, 7, 7) == 0);
}

TEST_CASE("an observed length without shares scales the plan") {
  const AccessDistribution planned(law("zipf", 1), 1000, 20);
  const ObservedAccess observed{10, {}, "test"};
  CHECK(observed.sum(planned, 3, 77) == doctest::Approx(planned.sum(3, 77) / 2));
}

TEST_CASE("observed accesses on rows that were planned without any are spread evenly") {
  const AccessDistribution planned(listed({1, 0, 0}), 3, 0);
  const ObservedAccess observed{10, {{1, 0.5}}, "test"};
  CHECK(observed.sum(planned, 1, 2) == doctest::Approx(2.5));
}

}  // namespace shardsim
