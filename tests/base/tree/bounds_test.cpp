#include "base/tree/bounds.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/base/error_text.h"

using namespace shardsim;

namespace {

std::string refusal(const Bounds& bounds, double number, const std::string& text, const std::string& advice = "") {
  return error_of([&] { refuse_outside(bounds, number, text, {"a.yaml", 1, 2}, advice); });
}

}  // namespace

TEST_CASE("the ends are in unless they are left out, and what is no number is never in") {
  CHECK(Bounds::from(1).hold(1));
  CHECK_FALSE(Bounds::above(1).hold(1));
  CHECK(Bounds::from(1).to(2).hold(2));
  CHECK_FALSE(Bounds::from(1).below(2).hold(2));
  CHECK(Bounds{}.hold(-1e300));
  CHECK_FALSE(Bounds{}.hold(std::nan("")));
}

TEST_CASE("a refusal says what is wrong, what to write and why") {
  CHECK(refusal(Bounds::from(1), 1, "1").empty());
  CHECK(refusal(Bounds::from(1), 0, "0") == "a.yaml:1:2: \"0\" is below 1. Write 1 or more.");
  CHECK(refusal(Bounds::above(0).below(1), 7, "7", "a difference") ==
        "a.yaml:1:2: \"7\" is not below 1. Write a number above 0 and below 1: a difference.");
  CHECK(refusal(Bounds::from(0).to(1e6), 1e7, "1e7") ==
        "a.yaml:1:2: \"1e7\" is above 1000000. Write a number from 0 to 1000000.");
  CHECK(refusal(Bounds::above(0), -1, "-1") == "a.yaml:1:2: \"-1\" is not above 0. Write a number above 0.");
}
