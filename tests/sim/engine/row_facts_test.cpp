#include "sim/engine/row_facts.h"

#include <doctest/doctest.h>

namespace shardsim::row_facts_test {

namespace {

Op row_op(int id, OpClass op_class, double lookups, double bytes) {
  Op op;
  op.id = id;
  op.op_class = op_class;
  op.shards = {0};
  op.lookups.values = {lookups};
  op.hbm_bytes.values = {bytes};
  return op;
}

// A table of 1,000 rows of 256 B on one rank: 4,000 lookups in 500 bags meet 900 rows; Adam keeps 512 B a row.
Program pooled_program() {
  Program program;
  program.world_size = 1;
  program.id_bytes = 8;
  Program::Shard shard;
  shard.row_end = 1000;
  shard.strategy = Strategy::table_wise;
  shard.holders = {{0}};
  program.shards = {shard};
  Op lookup = row_op(0, OpClass::lookup, 4000, 256 * (4000 + 500));
  lookup.pooled = true;
  lookup.bags.values = {500};
  Op update = row_op(1, OpClass::update, 4000, 256 * 4000 + 900 * (2 * 256 + 2 * 512));
  update.distinct_rows.values = {900};
  program.ops = {lookup, update};
  return program;
}

}  // namespace

TEST_CASE("a lookup and its update share what each knows of the rows") {
  const Program program = pooled_program();
  const RowFacts facts(program);
  for (const Op& op : program.ops) {
    const RowWork rows = facts.of(op).at(0);
    CHECK(rows.bytes == 256);
    CHECK(rows.distinct == 900);
    CHECK(rows.vectors == 500);
    CHECK(rows.vector_bytes == 256);
    CHECK(rows.update_bytes == 2 * 256 + 2 * 512);
    CHECK(rows.table_rows == 1000);
    CHECK(rows.table_count == 1);
    CHECK(rows.distinct_growth == 0);
    CHECK_FALSE(rows.in_place);
  }
}

TEST_CASE("of HugeCTR, rows and vectors have the bytes that are stated, and the index work is no update") {
  Program program = pooled_program();
  Op& lookup = program.ops[0];
  lookup.indexed = true;
  lookup.row_bytes.values = {256};
  lookup.vector_bytes.values = {128};
  lookup.distinct_growth.values = {0.4};
  lookup.hbm_bytes.values = {(256.0 + 20) * 4000 + 128 * 500};
  Op index = row_op(1, OpClass::update, 4000, 70 * 4000);
  index.role = OpRole::index_rows;
  index.sort_bits = 32;
  Op& update = program.ops[1];
  update.id = 2;
  update.indexed = true;
  update.row_bytes.values = {256};
  update.vector_bytes.values = {64};  // gradients of another type
  update.hbm_bytes.values = {64 * 4000 + 900 * (2 * 64 + 4 * 256)};
  program.ops.insert(program.ops.begin() + 1, index);
  const RowFacts facts(program);
  const RowWork looked_up = facts.of(program.ops[0]).at(0), updated = facts.of(program.ops[2]).at(0);
  CHECK(looked_up.bytes == 256);
  CHECK(looked_up.vector_bytes == 128);
  CHECK(looked_up.distinct_growth == 0.4);
  CHECK(looked_up.id_bytes == 8);  // pointers
  CHECK(updated.bytes == 256);
  CHECK(updated.vector_bytes == 64);
  CHECK(updated.summed_bytes == 64);
  CHECK(updated.update_bytes == 2 * 64 + 4 * 256);
}

TEST_CASE("of rows in host memory, and of a lookup without an update, nothing is said") {
  Program program = pooled_program();
  program.ops[0].host_bytes.values = {256.0 * 4000};
  CHECK(RowFacts(program).of(program.ops[0]).at(0).bytes == 0);
  program = pooled_program();
  program.ops.pop_back();
  CHECK(RowFacts(program).of(program.ops[0]).at(0).distinct == 0);
  Op dense;
  CHECK(RowFacts(program).of(dense).at(0).bytes == 0);
}

}  // namespace shardsim::row_facts_test
