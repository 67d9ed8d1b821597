#include <doctest/doctest.h>

#include "sim/memory/buffer_sizes.h"
#include "tests/base/error_text.h"
#include "tests/physics/two_tables.h"

// `optimizer: {update: all_rows}`: sums of gradients, then a pass over every row. Columns of A (1,000 rows) on ranks 0
// and 1, of B (600 rows) on 2 and 5, 32 each: rows of 128 bytes, with 128 more of Adagrad's state.

namespace shardsim::all_rows_test {

using namespace shardsim::physics;

namespace {

Program lowered_with(const std::string& update) {
  const Workload workload = two_tables_of(TableKind::pooled, "optimizer: {name: adagrad, update: " + update + "}\n");
  return lowered_plan(plan_of(Strategy::column_wise), workload, toy_cluster());
}

}  // namespace

TEST_CASE("an optimizer over all rows reads the sums and passes over every row and its state") {
  const Program program = lowered_with("all_rows"), exact = lowered_with("exact_sorted");
  CHECK(ops_named(program, "update_column_wise").empty());
  const auto sums = ops_named(program, "gradient_column_wise"), passes = ops_named(program, "apply_column_wise");
  const auto fused = ops_named(exact, "update_column_wise");
  REQUIRE(sums.size() == 1);
  REQUIRE(passes.size() == 1);
  REQUIRE(fused.size() == 1);
  for (const auto& [rank, lookups, rows] : {std::tuple{0, 768.0, 1000.0}, {1, 768.0, 1000.0}, {2, 512.0, 600.0}}) {
    const auto at = static_cast<std::size_t>(rank);
    const double touched = fused[0]->distinct_rows.at(at);
    CHECK(touched > 0);
    CHECK(touched < rows);
    CHECK(sums[0]->lookups.at(at) == lookups);
    CHECK(sums[0]->distinct_rows.at(at) == touched);
    CHECK(sums[0]->hbm_bytes.at(at) == doctest::Approx(128 * lookups + 128 * touched));
    CHECK(passes[0]->lookups.at(at) == 0);
    CHECK(passes[0]->hbm_bytes.at(at) == doctest::Approx((2 * 128 + 2 * 128) * rows + 128 * touched));
    CHECK(passes[0]->distinct_rows.at(at) == rows);
  }
  CHECK(passes[0]->hbm_bytes.at(3) == 0);  // it holds nothing
}

TEST_CASE("the sums take memory for the rows that were met, not for all rows") {
  const Program program = lowered_with("all_rows");
  const Op& sums = *ops_named(program, "gradient_column_wise").front();
  const BytesByRank bytes = dense_gradient_of(program, sums, true);
  REQUIRE(bytes.size() == 8);
  CHECK(bytes[0] >= 128 * sums.distinct_rows.at(0));
  CHECK(bytes[0] <= 128 * 768);
  CHECK(bytes[3] == 0);
}

TEST_CASE("an optimizer over all rows is refused for rows in host memory") {
  const Workload workload = two_tables_of(TableKind::pooled, "optimizer: {name: adam, update: all_rows}\n");
  Plan plan = plan_of(Strategy::column_wise);
  for (Placement& placement : plan.placements) placement.compute_kernel = "fused_uvm";
  CHECK(has(error_of([&] { lowered_plan(plan, workload, toy_cluster()); }), "host memory"));
}

}  // namespace shardsim::all_rows_test
