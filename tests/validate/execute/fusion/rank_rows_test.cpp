#include "validate/execute/fusion/rank_rows.h"

#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "tests/validate/execute/sample_programs.h"

namespace shardsim::rank_rows_test {

namespace {

Fusion of_shards(std::vector<int> shards) {
  Fusion fusion;
  fusion.shards = std::move(shards);
  return fusion;
}

}  // namespace

TEST_CASE("positions of the worked example live where docs/formats/plan.md says") {
  Program program = sample::toy_program();
  const Program::Shard& tier = program.shards[2];
  // j = 4969, 1362, 1813 of 7136 over 8 pieces of 892.
  CHECK(row_owner(program, tier, 864) == RowOwner{5, 4969 - 5 * 892});
  CHECK(row_owner(program, tier, 865) == RowOwner{1, 1362 - 892});
  CHECK(row_owner(program, tier, 866) == RowOwner{2, 1813 - 2 * 892});
  CHECK(row_owner(program, program.shards[0], 63) == RowOwner{0, 63});  // data-parallel: as it stands
}

TEST_CASE("a shard in the order of row ids is cut in blocks of them") {
  Program program = sample::toy_program();
  Program::Shard& shard = program.shards[2];
  shard.row_begin = 0;
  shard.order = "row_id";
  shard.tier = -1;
  // Row ids 1681, 3574, 1183, 2523 of 8000 in blocks of 1000.
  CHECK(row_owner(program, shard, 0) == RowOwner{1, 681});
  CHECK(row_owner(program, shard, 1) == RowOwner{3, 574});
  CHECK(row_owner(program, shard, 2) == RowOwner{1, 183});
  CHECK(row_owner(program, shard, 7999) == RowOwner{2, 523});
}

TEST_CASE("a table without tiers is one tier") {
  Program program = sample::toy_program();
  Program::Shard& shard = program.shards[1];
  shard.tier = 0;
  const RowOwner with_tier = row_owner(program, shard, 100);
  shard.tier = -1;
  CHECK(row_owner(program, shard, 100) == with_tier);
}

TEST_CASE("pieces of rows that do not divide: the first ones are a row longer") {
  Program program = sample::toy_program();
  Program::Shard& shard = program.shards[2];
  shard.row_end = shard.row_begin + 19;  // over 8: 3 3 3 2 2 2 2 2
  CHECK(row_shards(shard) == 8);
  CHECK(row_shard_rows(shard, 0) == 3);
  CHECK(row_shard_rows(shard, 2) == 3);
  CHECK(row_shard_rows(shard, 3) == 2);
  CHECK(row_shard_rows(shard, 7) == 2);
  // Every row of every piece is somebody's.
  std::set<std::pair<int, std::uint64_t>> seen;
  for (std::uint64_t i = shard.row_begin; i < shard.row_end; ++i) {
    const RowOwner owner = row_owner(program, shard, i);
    CHECK(owner.local_row < static_cast<std::uint64_t>(row_shard_rows(shard, owner.shard)));
    seen.insert({owner.shard, owner.local_row});
  }
  CHECK(seen.size() == 19);
}

TEST_CASE("who holds which piece") {
  const Program program = sample::toy_program();
  CHECK(row_shard_of(program.shards[0], 5) == 0);  // a copy of all rows
  CHECK(row_shard_of(program.shards[1], 1) == 1);
  CHECK(row_shard_of(program.shards[1], 5) == 1);  // the copy on the other node
  CHECK(row_shard_of(program.shards[2], 5) == 5);
  Program::Shard on_one = program.shards[2];
  on_one.strategy = Strategy::table_wise;
  on_one.holders = {{3}};
  CHECK(row_shard_of(on_one, 3) == 0);
  CHECK(row_shard_of(on_one, 4) == -1);
}

TEST_CASE("an arena holds the rows of its parts one after the other") {
  Program program = sample::toy_program();
  program.shards[1].column_end = 32;
  const RankRows held = rank_rows(program, of_shards({2, 1, 0}), 6);
  REQUIRE(held.parts.size() == 3);
  CHECK(held.parts[0].shard == 2);
  CHECK(held.parts[0].position == 6);
  CHECK(held.parts[0].rows == 892);
  CHECK(held.parts[1].first_row == 892);
  CHECK(held.parts[1].first_element == 892 * 64);
  CHECK(held.parts[1].rows == 200);
  CHECK(held.parts[1].position == 2);
  CHECK(held.parts[2].first_row == 1092);
  CHECK(held.parts[2].first_element == 892 * 64 + 200 * 32);
  CHECK(held.rows == 892 + 200 + 64);
  CHECK(held.elements == 892 * 64 + 200 * 32 + 64 * 64);
}

TEST_CASE("a running number finds its part") {
  const Program program = sample::toy_program();
  const RankRows held = rank_rows(program, of_shards({0, 1, 2}), 0);
  CHECK(held.part_of(0).shard == 0);
  CHECK(held.part_of(63).shard == 0);
  CHECK(held.part_of(64).shard == 1);
  CHECK(held.part_of(263).shard == 1);
  CHECK(held.part_of(264).shard == 2);
  CHECK(held.part_of(held.rows - 1).shard == 2);
  CHECK_THROWS_AS(held.part_of(held.rows), Error);
  CHECK_THROWS_AS(held.part_of(-1), Error);
}

TEST_CASE("a part without rows owns no running number") {
  Program program = sample::toy_program();
  program.shards[1].row_end = program.shards[1].row_begin + 2;  // positions 2 and 3 hold nothing
  const RankRows held = rank_rows(program, of_shards({1, 2}), 3);
  REQUIRE(held.parts.size() == 2);
  CHECK(held.parts[0].rows == 0);
  CHECK(held.part_of(0).shard == 2);
}

}  // namespace shardsim::rank_rows_test
