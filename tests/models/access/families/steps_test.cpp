#include <doctest/doctest.h>

#include <cmath>

#include "tests/models/access_laws.h"

namespace shardsim::steps_test {
namespace {

AccessSpec steps(const std::vector<AccessSpec::Step>& given) {
  AccessSpec spec;
  spec.family = "steps";
  spec.steps = given;
  return spec;
}

void check_refused(const std::vector<AccessSpec::Step>& given, const char* fragment) {
  const auto build = [&] { return AccessDistribution(steps(given), 100, 5, {"w.yaml", 7, 3}); };
  CHECK_THROWS_WITH_AS(build(), doctest::Contains(fragment), Error);
  CHECK_THROWS_WITH_AS(build(), doctest::Contains("w.yaml:7:3: "), Error);
}

}  // namespace

TEST_CASE("steps: weights are shares of the table's items, rows behind the last have none") {
  const AccessDistribution rows(steps({{2, 40}, {10, 2}, {20, 0.5}}), 100, 11);
  CHECK(rows.total() == 11);  // weights add up to 80 + 20 + 10 = 110
  CHECK(rows.probability(1) == doctest::Approx(4));
  CHECK(rows.probability(2) == doctest::Approx(0.2));
  CHECK(rows.probability(31) == doctest::Approx(0.05));
  CHECK(rows.probability(32) == 0);
  CHECK(rows.prefix(2) == doctest::Approx(8));
  CHECK(rows.prefix(7) == doctest::Approx(9));
  CHECK(rows.prefix(32) == doctest::Approx(11));
  CHECK(rows.position_at(8.05) == 2);
  CHECK(rows.count_at_least(0.2) == 12);
  check_prefix_sums(rows, 1e-14);
}

TEST_CASE("steps: distinct rows are those of each step") {
  const AccessDistribution rows(steps({{3, 1000}, {1000, 1}}), 1'000'000, 4000);
  // 3 rows are met for sure, each of 1,000 with 1 - e^-1 at 4,000 draws (1 of 4,000 on average each).
  CHECK(rows.expected_distinct(0, rows.rows(), 4000) == doctest::Approx(3 + 1000 * (1 - std::exp(-1))).epsilon(1e-3));
}

TEST_CASE("steps that are no law are refused") {
  check_refused({}, "no steps");
  check_refused({{1, 2}, {1, 3}}, "rises from access step 1 to 2");
  check_refused({{1, -2}}, "weight 1 is -2");
  check_refused({{60, 2}, {41, 1}}, "more than the table's 100 rows");
  check_refused({{0, 2}}, "step 1 has no rows");
  check_refused({{1, 0}}, "sum of the access distribution is 0");
}

}  // namespace shardsim::steps_test
