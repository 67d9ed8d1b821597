#include <doctest/doctest.h>

#include "plan/search/local_search.h"
#include "tests/plan/test_setting.h"

namespace shardsim::search::moved_bytes_test {
namespace {

Placement part(Strategy strategy, std::vector<int> ranks, std::int64_t begin, std::int64_t end) {
  Table table = sequence_table("t", 100, 16);
  Placement placement = whole_table(0, table, strategy, {std::move(ranks)});
  placement.column_begin = begin;
  placement.column_end = end;
  return placement;
}

}  // namespace

// 100 rows of 16 columns, 4 bytes each: 6,400 bytes in all.
TEST_CASE("bytes that move are those that a rank holds and did not hold before") {
  const Table table = sequence_table("t", 100, 16);
  const std::vector<Placement> on_0 = {part(Strategy::table_wise, {0}, 0, 16)};
  const std::vector<Placement> on_1 = {part(Strategy::table_wise, {1}, 0, 16)};
  const std::vector<Placement> halves = {part(Strategy::column_wise, {0}, 0, 8),
                                         part(Strategy::column_wise, {1}, 8, 16)};
  const std::vector<Placement> rows = {part(Strategy::row_wise, {0, 1}, 0, 16)};
  const std::vector<Placement> copies = {part(Strategy::data_parallel, {0, 1, 2, 3}, 0, 16)};
  CHECK(moved_bytes(on_0, on_0, table) == 0);
  CHECK(moved_bytes(on_1, on_0, table) == 6400);
  CHECK(moved_bytes(halves, on_0, table) == 3200);
  CHECK(moved_bytes(rows, on_0, table) == 3200);
  CHECK(moved_bytes(halves, rows, table) == 3200);  // a quarter stays on each of the two ranks
  CHECK(moved_bytes(copies, on_0, table) == 3 * 6400);
  CHECK(moved_bytes(on_1, copies, table) == 0);  // it is there already
}

}  // namespace shardsim::search::moved_bytes_test
