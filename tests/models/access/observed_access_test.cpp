#include <doctest/doctest.h>

#include "tests/models/access_laws.h"

namespace shardsim::observed_access_test {

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

}  // namespace shardsim::observed_access_test
