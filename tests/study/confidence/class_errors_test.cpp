#include "study/confidence/class_errors.h"

#include <doctest/doctest.h>

#include <cmath>

namespace shardsim::class_errors_test {

namespace {

Residual missed_by(const std::string& error_class, const std::string& system, double error) {
  Residual residual;
  residual.error_class = error_class;
  residual.system = system;
  residual.predicted_ms = 1;
  residual.observed_ms = std::exp(error);
  return residual;
}

}  // namespace

TEST_CASE("a system counts once, however many rows it has") {
  const ClassErrors errors(std::vector<Residual>{missed_by("a", "one", 0.1), missed_by("a", "one", -0.1),
                                                 missed_by("a", "one", 0.1), missed_by("a", "two", 0.5)});
  CHECK(errors.scale("a") == doctest::Approx(0.3));
  CHECK(errors.systems("a") == 2);
}

TEST_CASE("a system does not judge itself") {
  const ClassErrors errors(std::vector<Residual>{missed_by("a", "one", 0.1), missed_by("a", "two", 0.5)});
  CHECK(errors.scale("a", "two") == doctest::Approx(0.1));
  CHECK(errors.systems("a", "two") == 1);
}

TEST_CASE("a class of few systems is pulled towards the class above it") {
  const ClassErrors errors(std::vector<Residual>{missed_by("a/b", "one", 0.1), missed_by("a/c", "two", 0.5),
                                                 missed_by("a/c", "three", 0.9)});
  CHECK(errors.scale("a") == doctest::Approx(0.5));
  CHECK(errors.scale("a/b") == doctest::Approx((0.1 + kParentSystems * 0.5) / (1 + kParentSystems)));
  CHECK(errors.scale("a/nobody measured this") == doctest::Approx(0.5));
}

TEST_CASE("what sets a hardly measured network apart is a guess beside the errors of the others") {
  const std::vector<Residual> rows{missed_by("collective/rdma", "one", 0.1),
                                   missed_by("foreign_collective/x", "two", 0.1)};
  const ClassErrors errors(rows);
  CHECK(errors.scale("collective/rdma") == doctest::Approx(0.1));
  CHECK(errors.scale("foreign_collective/x/tcp") == doctest::Approx(std::hypot(0.1, guessed_constant_scale())));
}

TEST_CASE("fitted rows prove nothing") {
  Residual fitted = missed_by("a", "one", 0.001);
  fitted.fitted = true;
  const ClassErrors errors(std::vector<Residual>{fitted, missed_by("a", "two", 0.5)});
  CHECK(errors.scale("a") == doctest::Approx(0.5));
}

TEST_CASE("what nobody measured at all is a guess") {
  const ClassErrors errors(std::vector<Residual>{});
  CHECK(errors.scale("a/b") == doctest::Approx(guess_scale()));
  CHECK(std::exp(coverage_quantile() * guess_scale()) == doctest::Approx(1.5));
}

// Abramowitz and Stegun, table 26.10: t of 4 degrees of freedom at 0.90 is 1.533.
TEST_CASE("four errors in five of scale 1 lie within 1.533") {
  CHECK(coverage_quantile() == doctest::Approx(1.533).epsilon(1e-3));
  CHECK(error_chance(1.533) - error_chance(-1.533) == doctest::Approx(0.8).epsilon(1e-3));
}

}  // namespace shardsim::class_errors_test
