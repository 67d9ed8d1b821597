#include <doctest/doctest.h>

#include "sim/engine/alone_times.h"
#include "sim/engine/steady_timeline.h"
#include "tests/physics/two_tables.h"

namespace shardsim::steady_times_test {

// Times of a large world's operations are counted by like nodes, and are those of its Timeline to the last bit.

using namespace shardsim::physics;

namespace {

void check_same(const Program& program, const Cluster& cluster) {
  const auto compute = make_compute_model(named("roofline"));
  const std::vector<OpWork> works = expand_ops(program, cluster, *compute, {});
  const SteadyTimes times = steady_times(program, cluster, works, *make_network(named("fair_queues")), {});
  const Timeline timeline = steady_timeline(program, cluster, works, *make_network(named("fair_queues")), {});
  CHECK(times.time.ms() == timeline.iteration_ms);
  const std::vector<NamedTime> of_timeline = named_times_alone(timeline);
  REQUIRE(times.alone.size() == of_timeline.size());
  for (std::size_t name = 0; name < of_timeline.size(); ++name) {
    CAPTURE(of_timeline[name].name);
    CHECK(times.alone[name].name == of_timeline[name].name);
    CHECK(times.alone[name].op_class == of_timeline[name].op_class);
    CHECK(times.alone[name].alone_ms == of_timeline[name].alone_ms);
  }
}

}  // namespace

TEST_CASE("times without contention are those of the Timeline that is not made") {
  const Cluster cluster = toy_cluster();
  for (const Strategy strategy : {Strategy::row_wise, Strategy::table_wise, Strategy::table_row_wise,
                                  Strategy::grid_shard, Strategy::flex, Strategy::data_parallel}) {
    CAPTURE(strategy_name(strategy));
    for (const TableKind kind : {TableKind::pooled, TableKind::sequence})
      check_same(lowered_plan(plan_of(strategy), two_tables_of(kind), cluster), cluster);
  }
}

TEST_CASE("so they are where one node stands for many") {
  ClusterSpec spec = cluster_spec("a100_mesh_4x8.yaml", 12);
  const Workload workload = shipped_workload("rm1.yaml");
  const Cluster cluster(spec);
  check_same(lowered("{name: flexshard_3tier}", workload, cluster), cluster);
  check_same(lowered("{name: row_wise}", workload, cluster, even_rows()), cluster);
}

// A sum depends on the order of unlike numbers, and ranks decide who is first of those that start together.
TEST_CASE("where unlike operations of one name start together their sum is that of the Timeline's order") {
  const Cluster cluster(cluster_spec("a100_mesh_4x8.yaml", 4));
  Program program;
  program.world_size = cluster.world_size();
  program.streams = {"compute", "other"};
  program.ops.resize(3);
  std::vector<OpWork> works(program.ops.size());
  for (std::size_t op = 0; op < works.size(); ++op) {
    program.ops[op].id = static_cast<int>(op);
    program.ops[op].name = op == 2 ? "last" : "both";
    works[op].alone = {1e-6 / static_cast<double>(3 + 4 * op)};
  }
  program.ops[0].stream = 1;
  // One half of the ranks of a node has the first operation before the second one, the other half both at once.
  const NodeClasses classes{{0, 1, 0, 1}};
  Execution::Kept kept;
  for (int rank = 0; rank < 2 * cluster.ranks_per_node(); ++rank) {
    kept.spans.push_back({rank % 2 == 0 ? 0.0 : 1e-7, 2e-6, rank, 1, 0});
    kept.spans.push_back({1e-7, 3e-6, rank, 0, 1});
    kept.spans.push_back({3e-6, 4e-6, rank, 0, 2});
  }
  const auto alone = alone_times(kept, program, works, classes, cluster);
  const auto of_timeline = named_times_alone(timeline_without_traffic(kept, program, works, classes, cluster));
  REQUIRE(alone.size() == 2);
  for (std::size_t name = 0; name < alone.size(); ++name) {
    CHECK(alone[name].name == of_timeline[name].name);
    CHECK(alone[name].alone_ms == of_timeline[name].alone_ms);
  }
}

}  // namespace shardsim::steady_times_test
