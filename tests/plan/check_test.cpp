#include "plan/check.h"

#include <doctest/doctest.h>

#include "plan/planners/steps.h"
#include "tests/plan/test_setting.h"

namespace shardsim::check_test {

namespace {

// Two nodes of four GPUs; tables `a` (1000 rows) and `b` (600 rows) of 64 columns, row-wise, until a case breaks it.
struct Setting {
  Cluster cluster = test_cluster(2, 4);
  Workload workload = workload_of({sequence_table("a", 1000, 64), sequence_table("b", 600, 64)}, 32);
  Plan plan = plan_by("{name: row_wise}", workload, cluster);

  Placement& add_copy_of(std::size_t index) {
    plan.placements.push_back(plan.placements.at(index));
    return plan.placements.back();
  }
  std::string fault() const {
    return error_of([&] { check_plan(plan, workload, cluster, {"plan.json", 0, 0}); });
  }
};

}  // namespace

TEST_CASE("a sound plan passes") {
  Setting setting;
  CHECK(setting.fault().empty());
}

TEST_CASE("rows held twice are named with their table") {
  Setting setting;
  Placement& extra = setting.add_copy_of(1);
  extra.row_begin = 100;
  extra.row_end = 150;
  const std::string text = setting.fault();
  CHECK(has(text, "plan.json: table 'b': rows 100 to 150 are held twice"));
}

TEST_CASE("rows not held are named with their table: at the start, inside, at the end, or all of them") {
  Setting setting;
  Plan& plan = setting.plan;
  plan.placements[0].row_begin = 10;
  CHECK(has(setting.fault(), "table 'a': rows 0 to 10 are not held"));
  plan.placements[0].row_begin = 0;
  plan.placements[0].row_end = 990;
  CHECK(has(setting.fault(), "table 'a': rows 990 to 1000 are not held"));
  Placement& tail = setting.add_copy_of(0);
  tail.row_begin = 995;
  tail.row_end = 1000;
  CHECK(has(setting.fault(), "table 'a': rows 990 to 995 are not held"));
  plan.placements.erase(plan.placements.begin() + 1);
  plan.placements[0].row_end = 995;
  CHECK(has(setting.fault(), "table 'b': rows 0 to 600 are not held"));
}

TEST_CASE("columns held twice or not at all are named") {
  Setting setting;
  setting.plan = plan_by("{name: column_wise, min_partition: 16}", setting.workload, setting.cluster);
  REQUIRE(setting.plan.placements.size() == 8);
  REQUIRE(setting.fault().empty());
  setting.plan.placements[1].column_end = 28;
  CHECK(has(setting.fault(), "table 'a': rows 0 to 1000, columns 28 to 32, are not held"));
  setting.plan.placements[1].column_end = 40;
  CHECK(has(setting.fault(), "table 'a': rows 0 to 1000, columns 32 to 40, are held twice"));
  setting.plan.placements[1].column_end = 32;
  setting.plan.placements[3].column_end = 60;
  CHECK(has(setting.fault(), "columns 60 to 64, are not held"));
}

TEST_CASE("a rectangle missing between others is found") {
  Setting setting;
  Placement& top_left = setting.plan.placements[0];
  top_left.row_end = 500;
  top_left.column_end = 32;
  Placement right = top_left;
  right.column_begin = 32;
  right.column_end = 64;
  right.row_end = 1000;
  setting.plan.placements.push_back(right);
  CHECK(has(setting.fault(), "table 'a': rows 500 to 1000, columns 0 to 32, are not held"));
}

TEST_CASE("ranks outside the world, twice, or none are refused") {
  Setting setting;
  std::vector<std::vector<int>>& holders = setting.plan.placements[0].holders;
  holders = {{0, 1, 8}};
  CHECK(has(setting.fault(), "table 'a', row_wise: rank 8 is outside the world. Ranks go from 0 to 7"));
  holders = {{0, -1}};
  CHECK(has(setting.fault(), "rank -1 is outside the world"));
  holders = {{0, 1, 1}};
  CHECK(has(setting.fault(), "rank 1 is named twice"));
  holders = {{}};
  CHECK(has(setting.fault(), "no rank holds it"));
  holders = {};
  CHECK(has(setting.fault(), "no rank holds it"));
}

TEST_CASE("replica groups are of equal length and share no rank; only flex has several") {
  Setting setting;
  Placement& placement = setting.plan.placements[0];
  placement.holders = {{0, 1}, {2, 3}};
  CHECK(has(setting.fault(), "Only flex has replica groups"));
  placement.strategy = Strategy::flex;
  CHECK(has(setting.fault(), "table 'a' has replicated rows (flex) on 4 of 8 ranks. Name all 8 ranks"));
  placement.holders = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  CHECK(setting.fault().empty());
  placement.holders = {{0, 1, 2}, {3, 4}};
  CHECK(has(setting.fault(), "replica groups of 3 and 2 ranks"));
  placement.holders = {{0, 1}, {1, 2}};
  CHECK(has(setting.fault(), "rank 1 is named twice"));
  placement.strategy = Strategy::table_wise;
  placement.holders = {{0, 1}};
  CHECK(has(setting.fault(), "It lies on one rank"));
}

TEST_CASE("intervals that are empty, backward or beyond the table are refused") {
  Setting setting;
  Placement& placement = setting.plan.placements[0];
  placement.row_end = 1001;
  CHECK(has(setting.fault(), "rows 0 to 1001"));
  placement.row_end = 0;
  CHECK(has(setting.fault(), "rows 0 to 0"));
  placement.row_end = 1000;
  placement.column_begin = -1;
  CHECK(has(setting.fault(), "columns -1 to 64"));
  placement.column_begin = 0;
  placement.column_end = 65;
  CHECK(has(setting.fault(), "columns 0 to 65"));
  placement.column_end = 64;
  placement.table = 2;
  CHECK(has(setting.fault(), "table number 2"));
}

TEST_CASE("a plan over memory names the rank, the bytes over and the largest tables there") {
  const Cluster cluster = test_cluster(1, 2, "1 GB");
  std::vector<Table> tables;
  for (const auto& shape : {std::pair{"small", 1'000}, {"middle", 100'000}, {"large", 2'000'000}, {"tiny", 10}}) {
    const auto name = shape.first;
    const auto rows = shape.second;
    tables.push_back(sequence_table(name, static_cast<std::uint64_t>(rows), 64));
    tables.back().average_length = 1;
  }
  const Workload workload = workload_of(tables, 1);
  const Plan plan = plan_by("{name: data_parallel}", workload, cluster);
  const auto memory = paper_memory();
  try {
    check_memory(plan, workload, cluster, *memory);
    FAIL("6 copies of 512 MB do not fit in 1 GB");
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::infeasible);
    const std::string text = error.what();
    const std::int64_t needed = 6LL * 256 * (1'000 + 100'000 + 2'000'000 + 10) + 4LL * 256;
    CHECK(has(text, "rank 0 "));
    CHECK(has(text, fmt::format("{} bytes", needed - cluster.memory_per_rank().count)));
    CHECK(text.find("large (") < text.find("middle ("));
    CHECK(text.find("middle (") < text.find("small ("));
    CHECK_FALSE(has(text, "tiny"));
  }
  CHECK_NOTHROW(check_memory(plan_by("{name: row_wise}", workload, cluster), workload, cluster, *memory));
}

TEST_CASE("a table without bytes in the memory that is short is not among the largest") {
  const Workload workload =
      workload_of({sequence_table("small", 1'000, 64), sequence_table("large", 2'000'000, 64)}, 1);
  const Cluster cluster = test_cluster(1, 2, "1 GB");
  Plan plan = plan_by("{name: row_wise}", workload, cluster);
  for (Placement& placement : plan.placements)
    if (placement.table == 1) placement.compute_kernel = "fused_uvm";
  ClusterSpec spec = cluster.spec();
  spec.host.memory = Bytes{256LL * 2'000'000 - 1};
  const auto memory = paper_memory();
  const std::string text = error_of([&] { check_memory(plan, workload, Cluster(spec), *memory); });
  CHECK(has(text, "Largest tables there: large ("));
  CHECK_FALSE(has(text, "small"));
}

TEST_CASE("rows in host memory are held against that of the node, where the cluster says it") {
  Workload workload = workload_of({sequence_table("small", 1'000, 64), sequence_table("large", 2'000'000, 64)}, 1);
  workload.optimizer = "adam";
  Cluster cluster = test_cluster(1, 2, "1 GB");
  Plan plan = plan_by("{name: row_wise}", workload, cluster);
  for (Placement& placement : plan.placements) placement.compute_kernel = "fused_uvm";
  const std::int64_t needed = (256LL + 2 * 256) * (2'000'000 + 1'000);  // a row, and its two states
  for (const std::int64_t over : {0, 1}) {
    ClusterSpec spec = cluster.spec();
    spec.host.memory = Bytes{needed - over};
    const auto memory = paper_memory();
    const auto check = [&] { check_memory(plan, workload, Cluster(spec), *memory); };
    if (over == 0) {
      CHECK_NOTHROW(check());
      continue;
    }
    CHECK_THROWS_WITH_AS(check(), doctest::Contains("host memory: node 0 needs"), Error);
    for (Placement& placement : plan.placements) placement.compute_kernel = "fused";
    CHECK_NOTHROW(check());
  }
  CHECK_NOTHROW(check_memory(plan, workload, cluster, *paper_memory()));
}

}  // namespace shardsim::check_test
