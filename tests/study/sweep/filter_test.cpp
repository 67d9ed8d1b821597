#include "study/sweep/filter.h"

#include <doctest/doctest.h>

#include <map>

#include "base/error.h"

namespace shardsim::filter_test {

namespace {

std::optional<FilterValue> value_of(const std::string& name) {
  static const std::map<std::string, std::string> kTexts{
      {"cluster.nodes", "4"}, {"cluster.nics.rate", "200 Gbit/s"}, {"share", "50 %"}, {"size", "2 GiB"}};
  if (name == "planner") return FilterValue(std::string("row_wise"));
  const auto found = kTexts.find(name);
  if (found == kTexts.end()) return std::nullopt;
  return FilterValue(*amount_of(found->second));
}

bool holds(const std::string& condition) {
  return Filter(text_tree(condition, {"test", 3, 5})).holds(value_of);
}

}  // namespace

TEST_CASE("conditions compare sums and products of paths and numbers") {
  CHECK(holds("cluster.nodes * 8 <= 32"));
  CHECK_FALSE(holds("cluster.nodes * 8 < 32"));
  CHECK(holds("2 + cluster.nodes * 3 == 14"));
  CHECK(holds("(2 + cluster.nodes) * 3 == 18"));
  CHECK(holds("cluster.nodes - 1 - 1 == 2"));
  CHECK(holds("cluster.nodes / 2 / 2 == 1"));
  CHECK(holds("-1 < cluster.nodes"));
  CHECK(holds("cluster.nodes != 5"));
}

TEST_CASE("conditions know units") {
  CHECK(holds("cluster.nics.rate >= 25 GB/s"));
  CHECK(holds("cluster.nics.rate * 2 > 399 Gbit/s"));
  CHECK(holds("cluster.nics.rate / 100 Gbit/s == 2"));
  CHECK(holds("size + 2 GiB == 4 GiB"));
  CHECK(holds("share < 0.6"));
  CHECK_THROWS_WITH_AS(holds("cluster.nics.rate > 5"), doctest::Contains("compares different units"), Error);
  CHECK_THROWS_WITH_AS(holds("size + cluster.nics.rate > 5"), doctest::Contains("adds different units"), Error);
  CHECK_THROWS_WITH_AS(holds("size * size > 5"), doctest::Contains("multiplies two units"), Error);
}

TEST_CASE("texts are equal or not") {
  CHECK(holds("planner == row_wise"));
  CHECK(holds("planner != flexshard_3tier"));
  CHECK(holds("planner != \"three tiers\""));
  CHECK(holds("'row_wise' == planner"));
  CHECK_THROWS_AS(holds("planner < row_wise"), Error);
}

TEST_CASE("a condition has a thousand signs at most") {
  std::string ones = "1";
  for (int i = 0; i < 1000; ++i) ones += "+1";
  CHECK(holds(ones + " == 1001"));
  CHECK_THROWS_WITH_AS(holds(ones + "+1 == 1002"), doctest::Contains("more than 1000 signs"), Error);
}

TEST_CASE("what cannot be read is refused with its place") {
  for (const char* const bad :
       {"cluster.nodes", "cluster.nodes <", "< 3", "cluster.nodes = 3", "(cluster.nodes > 3", "1 2 > 3",
        "cluster.nodes > 3 and planner == x", "3 Gbyte > size", "'open == planner", "", "knots > 3"}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH_AS(holds(bad), doctest::Contains("test:3:5: condition"), Error);
  }
  CHECK_THROWS_AS(holds(std::string(100, '(') + "1 > 0"), Error);
}

}  // namespace shardsim::filter_test
