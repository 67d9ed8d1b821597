#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "plan/check.h"
#include "tests/plan/test_setting.h"

namespace shardsim::random_test {
namespace {

Workload model() {
  return workload_of(
      {pooled_table("wide", 100'000, 512, 20), pooled_table("narrow", 5'003, 64, 1), sequence_table("history", 9'999)},
      512);
}

std::string by(const std::string& more) {
  return "{name: random" + more + "}";
}

Plan drawn(std::uint64_t seed, const std::string& more = "") {
  return plan_by(by(fmt::format(", seed: {}", seed) + more), model(), test_cluster(2, 4));
}

std::set<Strategy> strategies_of(int table, const std::string& more = "") {
  std::set<Strategy> strategies;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const Placement& placement : drawn(seed, more).placements) {
      if (placement.table == table) strategies.insert(placement.strategy);
    }
  }
  return strategies;
}

}  // namespace

TEST_CASE("random: every plan covers the model on legal ranks, and its seed alone decides it") {
  const Cluster cluster = test_cluster(2, 4);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Plan plan = drawn(seed);
    CAPTURE(seed);
    CHECK_NOTHROW(check_plan(plan, model(), cluster, {}));
    CHECK(plan == drawn(seed));
  }
  CHECK_FALSE(drawn(1) == drawn(2));
  CHECK(plan_by(by(""), model(), cluster, 7) == plan_by(by(", seed: 7"), model(), cluster, 7));  // the scenario's seed
}

TEST_CASE("random: every type that the table allows comes up, and no other") {
  using enum Strategy;
  CHECK(strategies_of(0) ==
        std::set{data_parallel, table_wise, column_wise, table_column_wise, row_wise, table_row_wise, grid_shard});
  CHECK(strategies_of(1) == std::set{data_parallel, table_wise, row_wise, table_row_wise});  // 64 columns are not cut
  CHECK(strategies_of(2) == std::set{data_parallel, table_wise, column_wise, row_wise});     // TorchRec's for sequences
  CHECK(strategies_of(0, ", sharding_types: [row_wise, column_wise]") == std::set{row_wise, column_wise});
}

TEST_CASE("random: every rank and every node is drawn") {
  std::set<int> ranks, nodes;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    ranks.insert(drawn(seed, ", sharding_types: [table_wise]").placements[0].holders[0][0]);
    const Plan in_node = plan_by(by(fmt::format(", seed: {}, sharding_types: [table_row_wise]", seed)),
                                 workload_of({pooled_table("wide", 100'000, 512, 20)}, 512), test_cluster(2, 4));
    nodes.insert(in_node.placements[0].holders[0][0]);
  }
  CHECK(ranks.size() == 8);
  CHECK(nodes == std::set{0, 4});
}

TEST_CASE("random: tables above max_replicated are not replicated") {
  CHECK_FALSE(strategies_of(0, ", max_replicated: \"100 MB\"").contains(Strategy::data_parallel));  // 204.8 MB
  CHECK(strategies_of(1, ", max_replicated: \"100 MB\"").contains(Strategy::data_parallel));        // 1.3 MB
}

TEST_CASE("random: types that do not fit give way to those that do") {
  // Two tables of 20.5 GB on 8 ranks of 16 GB, of which TorchRec leaves 85 %: neither fits whole or on one node twice.
  const Workload large =
      workload_of({pooled_table("a", 40'000'000, 128, 1), pooled_table("b", 40'000'000, 128, 1)}, 512);
  const Cluster cluster = test_cluster(2, 4, "16 GB");
  const auto memory = make_memory_model(options("{name: torchrec}"));
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Plan plan =
        make_planner(options(by(fmt::format(", seed: {}", seed))))->plan(large, cluster, {*memory, 1, {}});
    CHECK_NOTHROW(check_memory(plan, large, cluster, *memory));
    for (const Placement& placement : plan.placements) CHECK(in_rows(placement.strategy));
  }
}

TEST_CASE("random: where nothing fits the failure is infeasible and names the table") {
  const Workload huge =
      workload_of({pooled_table("small", 1000, 128, 1), pooled_table("huge", 1'000'000'000, 128, 1)}, 512);
  try {
    plan_by(by(", tries: 3"), huge, test_cluster(2, 4));
    FAIL("a plan");
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::infeasible);
    CHECK(has(error.what(), "'huge'"));
    CHECK(has(error.what(), "3 tries"));
  }
}

TEST_CASE("random: bad options are refused at their place") {
  const auto fault = [](const std::string& more) {
    return error_of([&] { plan_by(by(more), model(), test_cluster(2, 4)); });
  };
  CHECK(has(fault(", sharding_types: [row_wize]"), "options.yaml:1"));
  CHECK(has(fault(", sharding_types: [row_wize]"), "row_wise"));
  CHECK(has(fault(", sharding_types: []"), "empty"));
  CHECK(has(fault(", compute_kernels: [fuzed]"), "fused"));
  CHECK(has(fault(", seed: -1"), "options.yaml:1"));
  CHECK(has(fault(", tries: 0"), "options.yaml:1"));
  CHECK(has(fault(", tries: 1000000"), "100000"));
  CHECK(has(fault(", sharding_types: [grid_shard]"), "'history'"));  // sequences have no grid_shard
  CHECK(has(fault(", sharding_types: [data_parallel], max_replicated: \"1 MB\""), "max_replicated"));
}

}  // namespace shardsim::random_test
