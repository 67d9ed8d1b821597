#include "plan/plan.h"

#include <doctest/doctest.h>

#include "tests/plan/test_setting.h"

namespace shardsim::plan_test {

TEST_CASE("strategies have the names that plan files use, and unknown ones list them") {
  for (const char* name : {"column_wise", "data_parallel", "flex", "row_wise", "table_wise"}) {
    CHECK(strategy_name(parse_strategy(name, Place{"x"})) == name);
  }
  const std::string text = error_of([] { parse_strategy("row_wize", Place{"plan.json", 3, 0}); });
  CHECK(has(text, "plan.json:3"));
  CHECK(has(text, "row_wise"));
}

TEST_CASE("the first shards hold the remainder of the rows") {
  Placement placement;
  placement.row_begin = 5;
  placement.row_end = 15;  // 10 rows over 4 shards: 3, 3, 2, 2
  placement.holders = {{0, 1, 2, 3}};
  CHECK(placement.shards() == 4);
  CHECK(placement.shard_rows(0) == 3);
  CHECK(placement.shard_rows(1) == 3);
  CHECK(placement.shard_rows(2) == 2);
  CHECK(placement.shard_rows(3) == 2);
  placement.strategy = Strategy::data_parallel;  // everyone holds all of it
  CHECK(placement.shards() == 1);
  CHECK(placement.shard_rows(0) == 10);
}

TEST_CASE("a flex placement has as many shards as a replica group has ranks") {
  Placement placement;
  placement.row_end = 8;
  placement.strategy = Strategy::flex;
  placement.holders = {{0, 1}, {2, 3}, {4, 5}};
  CHECK(placement.shards() == 2);
  CHECK(placement.shard_rows(1) == 4);
}

}  // namespace shardsim::plan_test
