#include <doctest/doctest.h>

#include "base/error.h"
#include "base/tree/leaf.h"
#include "tests/base/error_text.h"

namespace shardsim::long_time_test {
namespace {

std::string fault_of(const std::string& text) {
  return error_of([&] { long_time_leaf().parse(text, {"a.yaml", 1, 2}); });
}

}  // namespace

TEST_CASE("where a long time lacks its unit, seconds are proposed") {
  CHECK(long_time_leaf().parse("15 ms", {}).value == 0.015);
  CHECK(has(fault_of("600"), "a.yaml:1:2: \"600\" has no unit. Write for example \"600 s\""));
  CHECK(has(fault_of("1.5"), "\"1.5 s\""));
  CHECK(has(fault_of("600 parsecs"), "unit"));
  CHECK(has(fault_of("x"), "does not start with a finite decimal number"));
}

}  // namespace shardsim::long_time_test
