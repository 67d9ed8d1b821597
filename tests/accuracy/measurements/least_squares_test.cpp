#include "accuracy/measurements/least_squares.h"

#include <doctest/doctest.h>

#include <cmath>

namespace shardsim::least_squares_test {

TEST_CASE("a narrow curved valley is walked to its end") {
  const Residuals rosenbrock = [](const std::vector<double>& at) {
    return std::vector<double>{10 * (at[1] - at[0] * at[0]), 1 - at[0]};
  };
  const std::vector<double> found = least_squares(rosenbrock, {-1.2, 1});
  CHECK(found[0] == doctest::Approx(1).epsilon(1e-4));
  CHECK(found[1] == doctest::Approx(1).epsilon(1e-4));
}

TEST_CASE("a straight line comes out as by hand") {
  // y = 1, 3, 5.5 at x = 0, 1, 2: slope 2.25, intercept 11/12.
  const Residuals line = [](const std::vector<double>& at) {
    return std::vector<double>{at[0] - 1, at[0] + at[1] - 3, at[0] + 2 * at[1] - 5.5};
  };
  const std::vector<double> found = least_squares(line, {0, 0});
  CHECK(found[0] == doctest::Approx(11.0 / 12));
  CHECK(found[1] == doctest::Approx(2.25));
  CHECK(half_square_sum({3, 4}) == 12.5);
}

TEST_CASE("a parameter that does nothing, and none at all, are left alone") {
  const Residuals first = [](const std::vector<double>& at) { return std::vector<double>{std::exp(at[0]) - 2}; };
  CHECK(least_squares(first, {0, 7})[1] == 7);
  CHECK(least_squares([](const std::vector<double>&) { return std::vector<double>{1}; }, {}).empty());
  CHECK(least_squares([](const std::vector<double>&) { return std::vector<double>{1}; }, {5}) ==
        std::vector<double>{5});
}

}  // namespace shardsim::least_squares_test
