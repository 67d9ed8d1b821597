#include "models/access/row_reuse.h"

#include <doctest/doctest.h>

#include <cmath>

namespace shardsim::row_reuse_test {
namespace {

AccessDistribution even(std::uint64_t rows) {
  return {AccessSpec{}, rows, 1};
}

AccessDistribution zipf(std::uint64_t rows, double s) {
  AccessSpec spec;
  spec.family = "zipf";
  spec.s = s;
  return {spec, rows, 1};
}

}  // namespace

TEST_CASE("even access: different rows and misses have closed forms") {
  const double rows = 1 << 20, draws = 2e6;
  const RowReuse reuse = row_reuse(even(1 << 20), 0, 1 << 20, draws);
  CHECK(reuse.lookups == draws);
  CHECK(reuse.distinct == doctest::Approx(rows * -std::expm1(-draws / rows)).epsilon(1e-6));
  CHECK(reuse.largest == doctest::Approx(draws / rows));
  // A cache of a quarter of the rows finds a quarter of the lookups (Che's approximation is exact here).
  CHECK(reuse.missed_by(rows / 4) == doctest::Approx(0.75 * draws).epsilon(0.02));
  CHECK(reuse.missed_by(1) == doctest::Approx(draws).epsilon(0.01));
  CHECK(reuse.missed_by(rows) == reuse.distinct);
}

TEST_CASE("rows that more than 32 lookups want are long runs, cut at 1,024") {
  const RowReuse few = row_reuse(even(1000), 0, 1000, 1000), many = row_reuse(even(10), 0, 10, 100'000);
  CHECK(few.long_rows == doctest::Approx(0).epsilon(1e-9));
  CHECK(few.long_lookups == doctest::Approx(0).epsilon(1e-9));
  CHECK(many.long_rows == doctest::Approx(10));
  CHECK(many.long_lookups == doctest::Approx(100'000));
  CHECK(many.long_pieces == doctest::Approx(10 * 10));  // 10,000 lookups of a row are 9.8 pieces
  CHECK(many.largest == doctest::Approx(10'000));
  // The chance of 33 or more where 33 are expected: 0.522 (Poisson).
  const RowReuse at_the_edge = row_reuse(even(1000), 0, 1000, 33'000);
  CHECK(at_the_edge.long_rows == doctest::Approx(522).epsilon(0.01));
}

TEST_CASE("the different rows are those of the access law, whatever the law") {
  for (const double s : {0.6, 1.05, 1.5}) {
    const AccessDistribution law = zipf(1'000'000, s);
    for (const double draws : {1e3, 1e5, 1e7}) {
      const RowReuse reuse = row_reuse(law, 0, law.rows(), draws);
      CHECK(reuse.distinct == doctest::Approx(law.expected_distinct(0, law.rows(), draws)).epsilon(0.01));
      CHECK(reuse.largest == doctest::Approx(draws * law.probability(0)).epsilon(0.01));
      CHECK(reuse.long_lookups <= draws);
    }
  }
}

TEST_CASE("larger caches miss less, never less than the different rows, never more than all lookups") {
  for (const double s : {0.3, 1.05, 2.0}) {
    const RowReuse reuse = row_reuse(zipf(3'000'000, s), 0, 3'000'000, 4e6);
    double before = reuse.lookups;
    for (double rows = 1; rows < 1e8; rows *= 1.7) {
      const double missed = reuse.missed_by(rows);
      CHECK(missed <= before * (1 + 1e-9));
      CHECK(missed >= reuse.distinct * (1 - 1e-9));
      before = missed;
    }
  }
}

TEST_CASE("no lookups, no rows and rows that nobody wants are nothing") {
  CHECK(row_reuse(even(100), 0, 100, 0) == RowReuse{});
  CHECK(row_reuse(even(100), 50, 50, 10) == RowReuse{});
  AccessSpec spec;
  spec.family = "steps";
  spec.steps = {{5, 1.0}};
  const RowReuse reuse = row_reuse(AccessDistribution(spec, 100, 1), 0, 100, 1e6);
  CHECK(reuse.distinct == doctest::Approx(5));
  CHECK(reuse.long_rows == doctest::Approx(5));
}

}  // namespace shardsim::row_reuse_test
