#include <doctest/doctest.h>

#include "plan/torchrec/estimate/sharding_option.h"
#include "plan/torchrec/spec/names.h"

namespace shardsim::torchrec::shard_geometry_test {
namespace {

TableSpec table_of(std::int64_t rows, std::int64_t dim) {
  TableSpec table;
  table.name = "t";
  table.rows = rows;
  table.dim = dim;
  return table;
}

Topology ranks(int world, int local) {
  Topology topology;
  topology.world_size = world;
  topology.local_world_size = local;
  set_capacity(topology, 0, 0);
  return topology;
}

std::vector<std::int64_t> rows_of(const std::vector<ShardRun>& runs) {
  std::vector<std::int64_t> rows;
  for (const ShardRun& run : runs) rows.insert(rows.end(), static_cast<std::size_t>(run.count), run.rows);
  return rows;
}

using Rows = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("row blocks are ceil(rows / ranks) until the rows are used up") {
  const auto cut = [](std::int64_t rows) {
    return rows_of(cut_table(table_of(rows, 8), ShardingType::row_wise, ranks(4, 4), {}));
  };
  CHECK(cut(10) == Rows{3, 3, 3, 1});
  CHECK(cut(5) == Rows{2, 2, 1, 0});
  CHECK(cut(3) == Rows{1, 1, 1, 0});
  CHECK(cut(8) == Rows{2, 2, 2, 2});
}

TEST_CASE("column blocks are the narrowest divisor from the least width on, in fours") {
  CHECK(column_block(10000, 0) == 200);
  CHECK(column_block(128, 0) == 128);
  CHECK(column_block(256, 0) == 128);
  CHECK(column_block(130, 0) == 130);
  CHECK(column_block(64, 20) == 32);
  CHECK(column_block(250, 100) == 250);  // 125 divides it, but not by fours
}

TEST_CASE("buckets go to ranks in whole, the first ranks get one more") {
  TableSpec table = table_of(70, 8);
  table.num_buckets = 7;
  CHECK(rows_of(cut_table(table, ShardingType::row_wise, ranks(4, 4), {})) == Rows{20, 20, 20, 10});
  table.num_buckets = 8;
  CHECK_THROWS_AS(cut_table(table, ShardingType::row_wise, ranks(4, 4), {}), PlannerError);
}

TEST_CASE("2026-08: a bucket for every rank; of managed-collision collections as many for each, which change nothing") {
  TableSpec table = table_of(72, 8);
  const auto required = [&](std::int64_t buckets, bool managed, PlannerVersion version = PlannerVersion::v2026_08) {
    table.num_buckets = buckets;
    table.managed_collision = managed;
    require_buckets(table, ShardingType::row_wise, ranks(4, 4), version);
  };
  CHECK_NOTHROW(required(6, false));
  CHECK_THROWS_AS(required(3, false), PlannerError);
  CHECK_NOTHROW(required(3, false, PlannerVersion::v2025_10));
  CHECK_THROWS_AS(required(6, true), PlannerError);
  CHECK_NOTHROW(required(12, true));
  CHECK(rows_of(cut_table(table, ShardingType::row_wise, ranks(4, 4), {})) == Rows{18, 18, 18, 18});
  table.num_buckets = 6;
  table.managed_collision = false;
  CHECK(rows_of(cut_table(table, ShardingType::row_wise, ranks(4, 4), {})) == Rows{24, 24, 12, 12});
}

TEST_CASE("a grid is cut into rows inside every column block") {
  TableSpec table = table_of(10, 64);
  table.min_partition = 32;
  const auto runs = cut_table(table, ShardingType::grid_shard, ranks(8, 4), {});
  int shards = 0;
  for (const ShardRun& run : runs) shards += run.count;
  CHECK(shards == 8);
  CHECK(rows_of(runs) == Rows{3, 3, 3, 1, 3, 3, 3, 1});
  CHECK(runs.back().col_offset == 32);
  CHECK(runs.back().row_offset == 9);
}

TEST_CASE("a table without rows cannot be cut") {
  CHECK_THROWS_AS(cut_table(table_of(0, 8), ShardingType::table_wise, ranks(1, 1), {}), PlannerError);
}

}  // namespace shardsim::torchrec::shard_geometry_test
