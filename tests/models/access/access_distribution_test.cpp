#include "models/access/access_distribution.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/models/access_laws.h"

namespace shardsim::access_distribution_test {
namespace {

void check_error(const AccessSpec& spec, std::uint64_t rows, double length, const char* fragment) {
  const auto build = [&] { return AccessDistribution(spec, rows, length, {"w.yaml", 7, 3}); };
  CHECK_THROWS_WITH_AS(build(), doctest::Contains(fragment), Error);
  CHECK_THROWS_WITH_AS(build(), doctest::Contains("w.yaml:7:3: "), Error);
}
}  // namespace

TEST_CASE("RM-1 in closed form equals the compensated sum over its 30 million rows" * doctest::test_suite("long")) {
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

}  // namespace shardsim::access_distribution_test
