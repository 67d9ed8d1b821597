#include <doctest/doctest.h>

#include "accuracy/measurements/judged_row.h"

namespace shardsim::error_figures_test {

namespace {

ErrorFigures figures(const std::vector<double>& errors) {
  std::vector<WeighedError> weighed;
  for (const double error : errors) weighed.push_back({error, 1});
  return error_figures(weighed);
}

JudgedRow row(const std::string& system, std::int64_t bytes, double measured_us, double predicted_us) {
  JudgedRow judged;
  judged.measured.system = system;
  judged.measured.bytes = bytes;
  judged.measured.time = Seconds{measured_us * 1e-6};
  judged.prediction.time = Seconds{predicted_us * 1e-6};
  return judged;
}

BandFigures of(const std::vector<JudgedRow>& rows) {
  std::vector<const JudgedRow*> pointers;
  for (const JudgedRow& judged : rows) pointers.push_back(&judged);
  return band_figures(pointers);
}

}  // namespace

TEST_CASE("an error is predicted against measured, for all calls that were timed") {
  JudgedRow judged = row("a", 1, 40, 42);
  CHECK(judged.error_pct() == doctest::Approx(5));
  judged.measured.calls = 2;
  CHECK(judged.error_pct() == doctest::Approx(110));
}

TEST_CASE("figures of a hand-computed set") {
  const ErrorFigures odd = figures({-10, 20, 30});
  CHECK(odd.rows == 3);
  CHECK(*odd.median_abs_pct == doctest::Approx(20));
  CHECK(*odd.mean_abs_pct == doctest::Approx(20));
  CHECK(*odd.p95_abs_pct == doctest::Approx(30));
  CHECK(*odd.signed_pct == doctest::Approx(40.0 / 3));
  CHECK(*figures({-4, 1, 2, 30}).median_abs_pct == doctest::Approx(3));
  CHECK(*figures({-7}).median_abs_pct == doctest::Approx(7));
  std::vector<double> twenty;
  for (int i = 1; i <= 20; ++i) twenty.push_back(i);
  CHECK(*figures(twenty).median_abs_pct == doctest::Approx(10.5));
  CHECK(*figures(twenty).p95_abs_pct == doctest::Approx(19.5));
}

TEST_CASE("no rows have no figures") {
  const ErrorFigures none = figures({});
  CHECK(none.rows == 0);
  CHECK_FALSE(none.median_abs_pct);
  CHECK_FALSE(none.p95_abs_pct);
  CHECK_FALSE(none.signed_pct);
}

TEST_CASE("every system weighs the same in every band, however many rows it has there") {
  // From 1 MiB: four rows of a at 1, 1, 1, 1 %, one row of b at 9 %. Below: b alone.
  const BandFigures found = of({row("a", kMiB, 100, 101), row("a", kMiB, 100, 101), row("a", kMiB, 100, 101),
                                row("a", 64 * kMiB, 100, 101), row("b", 2 * kMiB, 100, 91), row("b", 8, 100, 150)});
  CHECK(found.rows == 6);
  CHECK(found.systems == 2);
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
  const BandFigures found = of({row("a", 64 * kKiB - 1, 1, 1), row("a", 64 * kKiB, 1, 1), row("a", kMiB - 1, 1, 1),
                                row("a", kMiB, 1, 1), row("a", 64 * kMiB - 1, 1, 1), row("a", 64 * kMiB, 1, 1)});
  CHECK(found.bands[0].rows == 1);
  CHECK(found.bands[1].rows == 2);
  CHECK(found.bands[2].rows == 2);
  CHECK(found.bands[3].rows == 1);
  CHECK(found.from_1mib().rows == 3);
  CHECK(found.all().rows == 6);
}

}  // namespace shardsim::error_figures_test
