#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "models/access/access_distribution.h"
#include "tests/models/access_laws.h"

namespace shardsim::position_search_test {
namespace {

std::vector<AccessDistribution> laws() {
  AccessSpec steps;
  steps.family = "steps";
  steps.steps = {{3, 50}, {40, 2}, {1000, 0.01}};  // the rows behind them have probability 0
  return {rm1(),
          huge(),
          AccessDistribution(listed({5, 3, 3, 1, 0.5}), 5, 0),
          AccessDistribution({}, 1000, 20),
          AccessDistribution({}, 1, 2),
          AccessDistribution(steps, 5000, 7)};
}

void check_interval(const AccessDistribution& access, double begin, double end, std::int64_t searches) {
  const PositionSearch search(access, begin, end, searches);
  for (int i = 0; i <= 997; ++i) {
    const double mass = begin + (end - begin) * (i / 997.0);
    CHECK(search.position_at(mass) == access.position_at(mass));
  }
}

}  // namespace

TEST_CASE("many searches give the positions that single ones give, however many cuts they are helped by") {
  for (const AccessDistribution& access : laws()) {
    CAPTURE(access.rows());
    for (const std::int64_t searches : {0, 1, 7, 64, 4'000, 100'000}) {
      check_interval(access, 0, access.total(), searches);
      check_interval(access, access.prefix(access.rows() / 3), access.prefix(access.rows() / 2), searches);
    }
    check_interval(access, access.total(), access.total(), 100);  // an interval without mass
  }
}

TEST_CASE("masses at the cuts themselves, and between neighbouring numbers there, are found in the same rows") {
  const AccessDistribution access = huge();
  const PositionSearch search(access, 0, access.total(), 400);
  for (int cut = 0; cut <= 100; ++cut) {
    const double mass = access.total() * (cut / 100.0);
    for (const double near : {std::nextafter(mass, -1.0), mass, std::nextafter(mass, 1e300)})
      CHECK(search.position_at(near) == access.position_at(near));
  }
}

}  // namespace shardsim::position_search_test
