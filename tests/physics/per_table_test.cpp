#include <doctest/doctest.h>

#include "tests/physics/two_tables.h"

namespace shardsim::per_table_test {

// `embedding_kernels: per_table` and `input_exchange: none`, the two keys that describe distributed-embeddings. Columns
// of A on ranks 0 and 1, of B on 2 and 5, 32 each: rows of 128 bytes. A rank serves 8 x 96 lookups of A or 8 x 64 of B,
// and writes 8 x 32 vectors.

using namespace shardsim::physics;

namespace {

Program lowered_columns(const std::string& more) {
  const Workload workload = two_tables_of(TableKind::pooled, "optimizer: {name: adagrad}\n" + more);
  return lowered_plan(plan_of(Strategy::column_wise), workload, toy_cluster());
}

}  // namespace

TEST_CASE("with a kernel per table each table is looked up and updated by its holders alone") {
  const Program program = lowered_columns("embedding_kernels: per_table\n");
  for (const char* name : {"lookup_column_wise", "update_column_wise"}) {
    CAPTURE(name);
    const auto ops = ops_named(program, name);
    REQUIRE(ops.size() == 2);
    const bool a_first = ops[0]->ranks == std::vector<int>{0, 1};
    const Op& a = *ops[a_first ? 0 : 1];
    const Op& b = *ops[a_first ? 1 : 0];
    CHECK(a.ranks == std::vector<int>{0, 1});
    CHECK(b.ranks == std::vector<int>{2, 5});
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(a.lookups.at(i) == 768);
      CHECK(b.lookups.at(i) == 512);
    }
  }
}

TEST_CASE("expanded gradients are written and read once more per lookup, their sums three times more per row") {
  const Program fused = lowered_columns(""), apart = lowered_columns("embedding_kernels: per_table\n");
  const auto one = ops_named(fused, "update_column_wise");
  REQUIRE(one.size() == 1);
  for (const Op* op : ops_named(apart, "update_column_wise")) {
    for (std::size_t i = 0; i < op->ranks.size(); ++i) {
      const auto rank = static_cast<std::size_t>(op->ranks[i]);
      const double t = op->distinct_rows.at(i);
      CHECK(t == doctest::Approx(one[0]->distinct_rows.at(rank)));
      CHECK(t > 0);
      const double more = op->hbm_bytes.at(i) - one[0]->hbm_bytes.at(rank);
      CHECK(more == doctest::Approx(128 * (256 + op->lookups.at(i) + 3 * t)));
    }
  }
}

TEST_CASE("ids that are in place are not exchanged, and the output and its gradients move as ever") {
  const Program program = lowered_columns("input_exchange: none\n"), full = lowered_columns("input_exchange: full\n");
  for (const Op& op : program.ops) {
    CHECK_FALSE(op.name.starts_with("input_"));
    CHECK(op.name != "h2d_copy");
    CHECK(op.name != "host_wait");
    CHECK_FALSE(exchanges_inputs(op.role));
  }
  const auto moves = ops_named(program, "global_all_to_all"), before = ops_named(full, "global_all_to_all");
  REQUIRE(moves.size() == 2);
  REQUIRE(before.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(moved(program, *moves[i]).wire == moved(full, *before[i]).wire);
}

}  // namespace shardsim::per_table_test
