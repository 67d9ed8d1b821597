#include <doctest/doctest.h>

#include <algorithm>

#include "plan/sharding_groups.h"
#include "tests/validate/execute/checked_run.h"
#include "tests/validate/execute/sample_programs.h"
#include "validate/execute/buffers/data_check.h"
#include "validate/execute/fusion/pooled_layout.h"

// 2D parallelism, executed: sharding groups train copies of the tables, and an all-reduce makes them their mean.
namespace shardsim::replicas_test {
namespace {

Program grouped(const std::string& planner, const std::string& groups, const std::string& tables, int nodes = 2) {
  const Workload workload = sample::workload(tables, "none\nsharding_groups: {" + groups + "}");
  ClusterSpec spec = read_cluster(load_named("toy_2x4", "clusters", SHARDSIM_SOURCE_DIR "/scenarios", {}));
  spec.nodes = nodes;
  const Cluster cluster(spec);
  const std::optional<GroupedWorld> world = GroupedWorld::of(workload, cluster);
  const auto memory = make_memory_model(parse_yaml("{name: paper}", "sample"));
  const Plan plan =
      make_planner(parse_yaml(planner, "sample"))->plan(workload, world->cluster(), PlannerContext{*memory, 7, {}});
  Program program = lower(world->of_world(plan), workload, cluster, {});
  program.seed = 7;
  check_program(program, Place{"sample"});
  return program;
}

constexpr const char* kTable =
    "  - {name: a, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3, access: {family: zipf, s: 1}}\n";

}  // namespace

TEST_CASE("copies of sharding groups equal a single process that averages them, bit for bit" *
          doctest::test_suite("long")) {
  for (const char* const groups : {"size: 4", "size: 4, members: consecutive", "size: 2, sync_every: 3"}) {
    for (const char* const planner : {"{name: row_wise}", "{name: table_wise}", "{name: table_row_wise}",
                                      "{name: column_wise, min_partition: 32}", "{name: data_parallel}"}) {
      CAPTURE(groups);
      CAPTURE(planner);
      CHECK(test::checked(grouped(planner, groups, sample::kPooledTables), 5) == "");
    }
    CHECK(test::checked(grouped("{name: row_wise}", groups, sample::kTwoTables), 5) == "");
  }
}

TEST_CASE("a sample is judged of copies, too") {
  const std::string tables = sample::kPooledTables + sample::kTwoTables;
  std::string apart = tables;
  for (const auto& [from, to] :
       {std::pair{"name: a, rows: 1000, dim: 64, kind: seq", "name: x, rows: 1000, dim: 64, kind: seq"},
        std::pair{"name: b, rows: 600, dim: 64, kind: seq", "name: y, rows: 600, dim: 64, kind: seq"}})
    apart.replace(apart.find(from), std::string(from).size(), to);
  CHECK(test::checked(grouped("{name: row_wise}", "size: 4", apart), 3, 200'000) == "");
}

// Without what any layout does: of K copies each loses a K-th of what one would, with the gradients of all ranks.
TEST_CASE("the mean of K copies loses a K-th of all gradients") {
  const Program program = grouped("{name: table_wise}", "size: 4", kTable);
  const Fusion fusion = sample::fusions(program).front();
  const int holder = program.shards.front().holders.front().front();
  Reference reference(program);
  const std::vector<float> before = reference.shard_rows(holder, 0);
  reference.iterate(2);
  double lost = 0, expected = 0;
  for (const std::vector<int>& set : program.shards.front().holders) {
    CHECK(reference.shard_rows(set.front(), 0) == reference.shard_rows(holder, 0));
  }
  const std::vector<float> after = reference.shard_rows(holder, 0);
  for (std::size_t i = 0; i < before.size(); ++i) lost += before[i] - after[i];
  for (int rank = 0; rank < 8; ++rank) {
    for (int bag = 0; bag < 16; ++bag) {
      for (int c = 0; c < 64; ++c) expected += 2 * 3 * gradient_value(rank, fusion.lookup, bag, c) / 2;
    }
  }
  CHECK(lost == expected);
  CHECK(expected != 0);
}

TEST_CASE("between two averages copies differ") {
  const Program program = grouped("{name: table_wise}", "size: 4, sync_every: 3", kTable);
  const std::vector<std::vector<int>>& holders = program.shards.front().holders;
  Reference reference(program);
  const auto equal = [&] {
    return reference.shard_rows(holders[0].front(), 0) == reference.shard_rows(holders[1].front(), 0);
  };
  reference.iterate(1);
  CHECK(equal());
  reference.iterate(1);
  CHECK(!equal());
  reference.iterate(2);
  CHECK(equal());
}

TEST_CASE("copies that nothing averages are refused, and means that fp32 does not hold") {
  Program program = grouped("{name: row_wise}", "size: 4", sample::kPooledTables);
  for (Op& op : program.ops) {
    if (op.role == OpRole::average_replicas) op.role = OpRole::none;
  }
  CHECK_THROWS_WITH_AS(sample::fusions(program), doctest::Contains("nothing averages its rows"), Error);
  const Program three = grouped("{name: row_wise}", "size: 4, members: consecutive", sample::kPooledTables, 3);
  CHECK_NOTHROW(sample::fusions(three));
  CHECK_THROWS_WITH_AS(Reference{three}, doctest::Contains("3 sharding groups have copies of its rows"), Error);
}

}  // namespace shardsim::replicas_test
