#include "base/judgement/pair.h"

#include <doctest/doctest.h>

namespace shardsim::pair_test {

namespace {

// An observed time of 100 us, and a prediction that is off by so much.
Pair pair_of(double error_pct, const std::string& group = "", double size = 0) {
  return {.predicted = 100 + error_pct, .observed = 100, .group = group, .size = size};
}

ErrorFigures figures(const std::vector<double>& errors) {
  std::vector<Pair> pairs;
  for (const double error : errors) pairs.push_back(pair_of(error));
  return error_figures(pairs);
}

}  // namespace

TEST_CASE("an error is positive where the prediction is too large, in percent of what was observed") {
  CHECK(percent_off(42, 40) == doctest::Approx(5));
  CHECK(percent_off(30, 40) == doctest::Approx(-25));
  CHECK(pair_of(12).error_pct() == doctest::Approx(12));
  CHECK_FALSE(percent_off(std::nullopt, 40));
  CHECK_FALSE(percent_off(std::optional(1.0), 0));
}

TEST_CASE("a pair out of the model has no role in any figure") {
  std::vector<Pair> pairs = {pair_of(1), pair_of(2), pair_of(3)};
  pairs[1].role = Pair::Role::fitted;
  pairs[2].out_of_model = "TCP";
  REQUIRE(pairs_of(pairs, Pair::Role::judging).size() == 1);
  CHECK(pairs_of(pairs, Pair::Role::judging).front().error_pct() == doctest::Approx(1));
  CHECK(pairs_of(pairs, Pair::Role::fitted).front().error_pct() == doctest::Approx(2));
}

TEST_CASE("figures of a hand-computed set") {
  const ErrorFigures odd = figures({-10, 20, 30});
  CHECK(odd.rows == 3);
  CHECK(*odd.median_abs_pct == doctest::Approx(20));
  CHECK(*odd.mean_abs_pct == doctest::Approx(20));
  CHECK(*odd.p95_abs_pct == doctest::Approx(30));
  CHECK(*odd.signed_pct == doctest::Approx(40.0 / 3));
  CHECK(*odd.signed_median_pct == doctest::Approx(20));
  CHECK(*figures({-40, 20, 30}).signed_worst_pct == doctest::Approx(-40));
  CHECK(*figures({-40, 20, 30}).worst_abs_pct == doctest::Approx(40));
  CHECK(*figures({-4, 1, 2, 30}).median_abs_pct == doctest::Approx(3));
  CHECK(*figures({-7}).median_abs_pct == doctest::Approx(7));
  std::vector<double> twenty;
  for (int i = 1; i <= 20; ++i) twenty.push_back(i);
  CHECK(*figures(twenty).median_abs_pct == doctest::Approx(10.5));
  CHECK(*figures(twenty).p90_abs_pct == doctest::Approx(18.5));
  CHECK(*figures(twenty).p95_abs_pct == doctest::Approx(19.5));
}

TEST_CASE("no rows have no figures") {
  const ErrorFigures none = figures({});
  CHECK(none.rows == 0);
  CHECK_FALSE(none.median_abs_pct);
  CHECK_FALSE(none.p95_abs_pct);
  CHECK_FALSE(none.signed_pct);
}

TEST_CASE("every group weighs the same in every band, however many pairs it has there") {
  // From 1 MiB: four pairs of a at 1, 1, 1, 1 %, one of b at -9 %. Below: b alone.
  const BandFigures found = band_figures({pair_of(1, "a", kMiB), pair_of(1, "a", kMiB), pair_of(1, "a", kMiB),
                                          pair_of(1, "a", 64 * kMiB), pair_of(-9, "b", 2 * kMiB), pair_of(50, "b", 8)});
  CHECK(found.rows == 6);
  CHECK(found.groups == 2);
  CHECK(*found.from_1mib().median_abs_pct == doctest::Approx(5));  // half the weight each: between 1 and 9
  CHECK(*found.from_1mib().mean_abs_pct == doctest::Approx(5));
  CHECK(*found.from_1mib().signed_pct == doctest::Approx(-4));
  CHECK(*found.from_1mib().p95_abs_pct == doctest::Approx(9));
  CHECK(*found.bands[0].median_abs_pct == doctest::Approx(50));
  CHECK(found.bands[1].rows == 0);
  CHECK(found.bands[2].rows == 4);
  CHECK(*found.bands[2].median_abs_pct == doctest::Approx(5));
  CHECK(*found.bands[3].median_abs_pct == doctest::Approx(1));
}

TEST_CASE("bands begin where the last one ends") {
  std::vector<Pair> pairs;
  for (const std::int64_t size : {64 * kKiB - 1, 64 * kKiB, kMiB - 1, kMiB, 64 * kMiB - 1, 64 * kMiB})
    pairs.push_back(pair_of(0, "", static_cast<double>(size)));
  const BandFigures found = band_figures(pairs);
  CHECK(found.bands[0].rows == 1);
  CHECK(found.bands[1].rows == 2);
  CHECK(found.bands[2].rows == 2);
  CHECK(found.bands[3].rows == 1);
  CHECK(found.from_1mib().rows == 3);
  CHECK(found.all().rows == 6);
}

}  // namespace shardsim::pair_test
