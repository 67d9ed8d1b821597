#include <doctest/doctest.h>

#include "plan/check.h"
#include "tests/plan/test_setting.h"

namespace shardsim::uniform_test {

TEST_CASE("the table of planners is alphabetical, with help on one line and a planner behind each name") {
  REQUIRE(planners().size() >= 7);
  for (std::size_t i = 0; i < planners().size(); ++i) {
    const PlannerEntry& entry = planners()[i];
    if (i > 0) CHECK(planners()[i - 1].name < entry.name);
    CHECK_FALSE(entry.help.empty());
    CHECK(entry.help.find('\n') == std::string_view::npos);
    if (entry.name == "autoshard" || entry.name == "dreamshard" || entry.name == "per_table")
      continue;  // they need options
    CHECK(make_planner(options("{name: " + std::string(entry.name) + "}")) != nullptr);
  }
}

TEST_CASE("an unknown planner lists the known ones, an unknown option the known options") {
  const std::string text = error_of([] { make_planner(options("{name: flexshrad_2tier}")); });
  CHECK(has(text, "options.yaml:1"));
  CHECK(has(text, "flexshard_2tier"));
  CHECK(has(text, "table_wise"));
  CHECK(has(error_of([] { make_planner(options("{name: row_wise, cut: paper}")); }), "cut"));
  CHECK_FALSE(error_of([] { make_planner(options("{cut: paper}")); }).empty());
}

TEST_CASE("every planner covers every row and column once, whatever the shape") {
  for (const auto& shape : {std::pair{1, 1}, {1, 4}, {2, 4}, {3, 5}}) {
    const auto nodes = shape.first;
    const auto gpus = shape.second;
    const Cluster cluster = test_cluster(nodes, gpus);
    const Workload workload = workload_of({sequence_table("a", 10, 33), sequence_table("b", 9999, 512)}, 8);
    for (const PlannerEntry& entry : planners()) {
      if (entry.name == "autoshard" || entry.name == "dreamshard" || entry.name == "per_table")
        continue;  // no sequences; it needs its `tables`
      CAPTURE(entry.name);
      CAPTURE(nodes);
      CAPTURE(gpus);
      const Plan plan = plan_by("{name: " + std::string(entry.name) + "}", workload, cluster, 7);
      CHECK_NOTHROW(check_plan(plan, workload, cluster, {}));
      CHECK(plan.hash_seed == 7);
      CHECK(plan == plan_by("{name: " + std::string(entry.name) + "}", workload, cluster, 7));
    }
  }
}

TEST_CASE("column_wise cuts no slice narrower than min_partition and deals on from table to table") {
  const Cluster cluster = test_cluster(2, 2);
  const Workload workload =
      workload_of({sequence_table("a", 100, 300), sequence_table("b", 100, 64), sequence_table("c", 100, 4096)});
  const Plan plan = plan_by("{name: column_wise}", workload, cluster);
  REQUIRE(plan.placements.size() == 7);  // 300 / 128 = 2 slices, 64 stays whole, 4096 / 128 > 4 ranks
  CHECK(plan.placements[0].columns() == 150);
  CHECK(plan.placements[1].columns() == 150);
  CHECK(plan.placements[2].columns() == 64);
  CHECK(plan.placements[3].columns() == 1024);
  const std::vector<int> expected = {0, 1, 2, 3, 0, 1, 2};
  for (std::size_t i = 0; i < 7; ++i) CHECK(plan.placements[i].holders == std::vector<std::vector<int>>{{expected[i]}});
}

namespace {

std::vector<std::int64_t> widths_for(const std::string& kernels, const std::string& planner, std::int64_t dim) {
  const Cluster cluster = test_cluster(3, 1);
  const Workload workload = workload_of({sequence_table("wide", 5000, dim)});
  const auto memory = paper_memory();
  HandContext context{*memory, 1};
  context.family = kernels;
  std::vector<std::int64_t> widths;
  for (const Placement& placement : make_planner(options(planner))->plan(workload, cluster, context).placements)
    widths.push_back(placement.columns());
  return widths;
}

}  // namespace

TEST_CASE("columns are cut by whole groups of 4 where kernels read such, as long as a table has only such") {
  using Widths = std::vector<std::int64_t>;
  for (const char* const name : {"{name: grid_shard}", "{name: column_wise}"}) {
    CHECK(widths_for("fbgemm", name, 1024) == Widths{344, 340, 340});
    CHECK(widths_for("", name, 1024) == Widths{342, 341, 341});
    CHECK(widths_for("fbgemm", name, 1023) == Widths{341, 341, 341});
  }
  CHECK(widths_for("fbgemm", "{name: column_wise, min_partition: 2}", 8) == Widths{4, 4});
  CHECK(widths_for("fbgemm", "{name: memory_balanced, column_slice_threshold: 1}", 1024) == Widths{344, 340, 340});
}

TEST_CASE("table_wise puts the largest first on the emptiest rank") {
  const Cluster cluster = test_cluster(1, 2);
  const Workload workload = workload_of(
      {sequence_table("a", 100), sequence_table("b", 300), sequence_table("c", 250), sequence_table("d", 90)});
  const Plan plan = plan_by("{name: table_wise}", workload, cluster);
  std::vector<int> owners;
  for (const Placement& placement : plan.placements) owners.push_back(placement.holders[0][0]);
  CHECK(owners == std::vector<int>{1, 0, 1, 0});  // b 0, c 1, a 1 (250 < 300), d 0 (300 < 350)
}

TEST_CASE("flex replicates each node's shards over the nodes") {
  const Cluster cluster = test_cluster(3, 2);
  const Workload workload = workload_of({sequence_table("a", 100)});
  const Plan plan = plan_by("{name: flex}", workload, cluster);
  REQUIRE(plan.placements.size() == 1);
  CHECK(plan.placements[0].strategy == Strategy::flex);
  CHECK(plan.placements[0].holders == std::vector<std::vector<int>>{{0, 1}, {2, 3}, {4, 5}});
  CHECK(plan.placements[0].compute_kernel == "dense");
}

TEST_CASE("types of a node: the largest table to the emptiest node, slices dealt inside it or over the nodes") {
  const Cluster cluster = test_cluster(2, 4);
  const Workload workload =
      workload_of({sequence_table("a", 100, 64), sequence_table("b", 900, 64), sequence_table("c", 500, 64)});
  const std::vector<int> first = {0, 1, 2, 3}, second = {4, 5, 6, 7};
  const Plan rows = plan_by("{name: table_row_wise}", workload, cluster);
  REQUIRE(rows.placements.size() == 3);
  CHECK(rows.placements[0].holders.front() == second);  // b on node 0, then c and a on node 1
  CHECK(rows.placements[1].holders.front() == first);
  CHECK(rows.placements[2].holders.front() == second);
  const Plan columns = plan_by("{name: table_column_wise, min_partition: 32}", workload, cluster);
  REQUIRE(columns.placements.size() == 6);
  const std::vector<int> ranks = {4, 5, 0, 1, 6, 7};
  for (std::size_t i = 0; i < 6; ++i) CHECK(columns.placements[i].holders == std::vector<std::vector<int>>{{ranks[i]}});
  const Plan grid = plan_by("{name: grid_shard, min_partition: 16}", workload, cluster);
  REQUIRE(grid.placements.size() == 6);  // 64 / 16 = 4 slices, but two nodes
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(grid.placements[i].columns() == 32);
    CHECK(grid.placements[i].holders.front() == (i % 2 == 0 ? first : second));
  }
}

}  // namespace shardsim::uniform_test
