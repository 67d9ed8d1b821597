#include "plan/sharding_groups.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/tree/json.h"
#include "program/program_file.h"
#include "sim/memory/buffer_sizes.h"
#include "sim/memory/memory_profile.h"
#include "tests/base/error_text.h"
#include "tests/physics/two_tables.h"

namespace shardsim::sharding_groups_test {

// 2D parallelism: laws of groups, of bytes, of times and of memory.

using namespace shardsim::physics;

namespace {

constexpr const char* kTrained =
    "input_exchange: full\npipeline: sparse_dist\ndense: {layers: [{name: bottom, in: 16, out: 64}, {name: over, in: "
    "192, out: 256}]}\n";

Workload grouped(const std::string& groups, TableKind kind = TableKind::pooled, const std::string& more = kTrained) {
  return two_tables_of(kind, more + (groups.empty() ? "" : "sharding_groups: {" + groups + "}\n"));
}

// A plan for four ranks: A on position 0, B on 2; or both cut over all ranks, or blocks of columns.
Plan plan_of_four(Strategy strategy) {
  const std::pair<std::int64_t, std::int64_t> left{0, 32}, right{32, 64};
  if (strategy == Strategy::table_wise) return {{placed(0, strategy, {{0}}), placed(1, strategy, {{2}})}};
  if (strategy == Strategy::column_wise)
    return {{placed(0, strategy, {{0}}, left), placed(0, strategy, {{1}}, right), placed(1, strategy, {{3}})}};
  return {{placed(0, strategy, {{0, 1, 2, 3}}), placed(1, strategy, {{0, 1, 2, 3}})}};
}

Program of_world(const Plan& plan, const Workload& workload, const Cluster& cluster) {
  Program program = lower(GroupedWorld::of(workload, cluster)->of_world(plan), workload, cluster, {});
  check_program(program, Place{"test"});
  return program;
}

// The toy cluster, of so many nodes.
Cluster nodes_of_four(int nodes) {
  return Cluster(cluster_spec("toy_2x4.yaml", nodes));
}

std::vector<const Op*> averages(const Program& program) {
  std::vector<const Op*> found;
  for (const Op& op : program.ops)
    if (op.role == OpRole::average_replicas) found.push_back(&op);
  return found;
}

}  // namespace

TEST_CASE("one group of the whole world is lowered as if there were none") {
  for (const Strategy strategy : {Strategy::table_wise, Strategy::column_wise, Strategy::row_wise,
                                  Strategy::table_row_wise, Strategy::grid_shard, Strategy::data_parallel}) {
    for (const char* const members : {"interleaved", "consecutive"}) {
      const Workload plain = grouped(""), one = grouped(std::string("size: 8, members: ") + members);
      CHECK(lowered_plan(plan_of(strategy), one, toy_cluster()) ==
            lowered_plan(plan_of(strategy), plain, toy_cluster()));
    }
  }
}

TEST_CASE("replicas are neighbours, or a group is a block of ranks") {
  const auto sets = [](const std::string& members) {
    const auto groups = GroupedWorld::of(grouped("size: 4, members: " + members), toy_cluster());
    return std::pair(groups->sharding_sets(), groups->replica_sets());
  };
  using Sets = std::vector<std::vector<int>>;
  CHECK(sets("interleaved") == std::pair(Sets{{0, 2, 4, 6}, {1, 3, 5, 7}}, Sets{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  CHECK(sets("consecutive") == std::pair(Sets{{0, 1, 2, 3}, {4, 5, 6, 7}}, Sets{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST_CASE("every group does what it would do alone, and reduces the dense part with all others") {
  for (const Strategy strategy : {Strategy::table_wise, Strategy::column_wise, Strategy::row_wise}) {
    for (const TableKind kind : {TableKind::pooled, TableKind::sequence}) {
      const Plan plan = plan_of_four(strategy);
      const Program alone = lower(plan, grouped("", kind), nodes_of_four(1), {});
      const Program two = of_world(plan, grouped("size: 4, members: consecutive", kind), toy_cluster());
      std::size_t at = 0;
      for (const Op& op : two.ops) {
        if (op.role == OpRole::average_replicas) continue;
        const Op& like = alone.ops[at++];
        CHECK(op.name == like.name);
        CHECK(op.bytes == like.bytes);
        for (int rank = 0; rank < 8; ++rank)
          if (op.ranks.empty()) CHECK(op.hbm_bytes.at(rank) == like.hbm_bytes.at(rank % 4));
        if (op.op_class == OpClass::all_to_all)
          CHECK(resolve_matrix(two, op.matrix) == resolve_matrix(alone, like.matrix));
        if (!op.is_collective()) continue;
        CHECK(op.group == (op.role == OpRole::dense_all_reduce ? "world" : "sharding"));
        CHECK(stream_of(two, op) == op.group);
      }
      CHECK(at == alone.ops.size());
    }
  }
}

TEST_CASE(
    "rows and their states are averaged over those who hold the same, behind the updates and before the optimizer") {
  const Program program = of_world(plan_of_four(Strategy::table_wise), grouped("size: 4"), toy_cluster());
  const std::vector<const Op*> found = averages(program);
  REQUIRE(found.size() == 2);
  CHECK(found[0]->bytes_by_set == std::vector<std::int64_t>{1000 * 64 * 4, 0, 600 * 64 * 4, 0});
  CHECK(found[1]->bytes_by_set == std::vector<std::int64_t>{1000 * 4, 0, 600 * 4, 0});
  CHECK(found[0]->group == "replica");
  CHECK(waits_for(program, *found[1], found[0]->id));
  for (const Op& op : program.ops) {
    if (op.role == OpRole::update) CHECK(waits_for(program, *found[0], op.id));
    if (op.role == OpRole::dense_update) CHECK(waits_for(program, op, found[1]->id));
    if (op.role == OpRole::lookup) CHECK(std::ranges::count(op.after_previous, found[1]->id) == 1);
  }
  CHECK(averages(of_world(plan_of_four(Strategy::table_wise), grouped("size: 4, sync_states: false"), toy_cluster()))
            .size() == 1);
}

namespace {}  // namespace

TEST_CASE("fully sharded rows leave for their replicas behind the lookup, and come back ahead of the update") {
  for (const char* const pipeline : {"none", "sparse_dist", "fused_sparse_dist"}) {
    const Program program = of_world(
        plan_of_four(Strategy::table_wise),
        grouped("size: 4, strategy: fully_sharded", TableKind::pooled,
                fmt::format("input_exchange: full\npipeline: {}\ndense: {{layers: [{{name: over, in: 128, out: "
                            "256}}]}}\n",
                            pipeline)),
        toy_cluster());
    CHECK(averages(program).empty());
    REQUIRE(ops_in(program, OpRole::scatter_rows).size() == 1);
    REQUIRE(ops_in(program, OpRole::gather_rows).size() == 1);
    const Op &scatter = *ops_in(program, OpRole::scatter_rows).front(),
             &gather = *ops_in(program, OpRole::gather_rows).front();
    for (const Op* const call : {&scatter, &gather}) {
      CHECK(call->group == "replica");
      CHECK(stream_of(program, *call) == "replica");
      CHECK(call->bytes_by_set == std::vector<std::int64_t>{1000 * 64 * 4, 0, 600 * 64 * 4, 0});
    }
    // 2 x rows x (K - 1) / K over the wire, K = 2: a half each way.
    CHECK(moved_by(program, scatter, false)[0] == 1000 * 64 * 4 / 2);
    CHECK(moved_by(program, gather, true)[4] == 600 * 64 * 4 / 2);
    CHECK(waits_for(program, scatter, ops_in(program, OpRole::lookup).front()->id));
    CHECK(waits_for(program, *ops_in(program, OpRole::order_output).front(), scatter.id));
    CHECK(waits_for(program, gather, ops_in(program, OpRole::divide_gradient).front()->id));
    CHECK(waits_for(program, *ops_in(program, OpRole::update).front(), gather.id));
    Program named = program;
    named.case_name = "groups";
    CHECK(program_from_tree(parse_json(program_to_json(named), "test")) == named);
  }
}

TEST_CASE("rows that replicas cannot share evenly are filled up") {
  const Program program = of_world(plan_of_four(Strategy::table_wise),
                                   grouped("size: 4, members: consecutive, strategy: fully_sharded"), nodes_of_four(3));
  // 64,000 and 38,400 elements among three.
  CHECK(ops_in(program, OpRole::scatter_rows).front()->bytes_by_set ==
        std::vector<std::int64_t>{3 * 21334 * 4, 0, 3 * 12800 * 4, 0});
}

TEST_CASE("fully sharded replicas are averaged in whole only where an interval is given") {
  const auto found = [](const std::string& more) {
    return averages(of_world(plan_of_four(Strategy::table_wise), grouped("size: 4, strategy: fully_sharded" + more),
                             toy_cluster()))
        .size();
  };
  CHECK(found("") == 0);
  CHECK(found(", sync_every: 1") == 2);
  CHECK(found(", sync_every: 4, sync_states: false") == 1);
  CHECK(lowered_plan(plan_of(Strategy::row_wise), grouped("size: 8, strategy: fully_sharded"), toy_cluster()) ==
        lowered_plan(plan_of(Strategy::row_wise), grouped(""), toy_cluster()));
  CHECK(of_world(plan_of_four(Strategy::data_parallel), grouped("size: 4, strategy: fully_sharded"), toy_cluster()) ==
        of_world(plan_of_four(Strategy::data_parallel), grouped("size: 4"), toy_cluster()));
}

TEST_CASE("beside the dense part a rank has its share of fully sharded rows") {
  const auto tables = [](const std::string& strategy, const Cluster& cluster) {
    const Workload workload =
        grouped("size: 4, members: consecutive" + strategy, TableKind::pooled,
                "input_exchange: full\npipeline: sparse_dist\ndense: {layers: [{name: over, in: 128, out: 65536}, "
                "{name: top, in: 65536, out: 8}]}\n");
    const auto groups = GroupedWorld::of(workload, cluster);
    const Plan plan = groups->of_world(plan_of_four(Strategy::table_wise));
    const Program program = lower(plan, workload, cluster, {});
    const MemoryProfile profile = memory_profile(program, simulated(program, cluster), plan, workload);
    std::vector<std::int64_t> bytes;
    for (std::size_t rank = 0; rank < 4; ++rank) bytes.push_back(profile.ranks[rank].amounts[MemoryPart::tables]);
    return bytes;
  };
  using Amounts = std::vector<std::int64_t>;
  CHECK(tables("", toy_cluster()) == Amounts{256000, 0, 153600, 0});
  CHECK(tables(", strategy: fully_sharded", toy_cluster()) == Amounts{256000 / 2, 0, 153600 / 2, 0});
  CHECK(tables(", strategy: fully_sharded", nodes_of_four(3)) == Amounts{21334 * 4, 0, 153600 / 3, 0});
}

TEST_CASE("gradients of data-parallel tables are reduced over the world, so their copies are equal already") {
  const Program program = of_world(plan_of_four(Strategy::data_parallel), grouped("size: 4"), toy_cluster());
  CHECK(averages(program).empty());
  CHECK(ops_named(program, "global_all_reduce").front()->group == "world");
  CHECK(program.shards.front().holders == std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6, 7}});
}

TEST_CASE("of an average in one of N iterations, each has the N-th part") {
  const auto ms = [](int every, bool alone) {
    const Cluster cluster = nodes_of_four(4);
    const Workload workload =
        grouped(fmt::format("size: 4, members: consecutive, sync_every: {}", every), TableKind::pooled,
                "input_exchange: full\ndense: {layers: [{name: over, in: 128, out: 64}]}\n");
    Program program = of_world(plan_of_four(Strategy::row_wise), workload, cluster);
    if (!alone) return simulated(program, cluster).iteration_ms;
    const auto compute = make_compute_model(named("roofline"));
    return expand_ops(program, cluster, *compute, {})[static_cast<std::size_t>(averages(program).front()->id)]
        .alone.ms();
  };
  CHECK(ms(10, true) == doctest::Approx(ms(1, true) / 10).epsilon(1e-9));
  CHECK(ms(1, false) > ms(10, false));
}

TEST_CASE("of iterations some of which average their replicas, the mean is told, though a part of an average hides") {
  const Cluster cluster = nodes_of_four(4);
  const auto compute = make_compute_model(named("roofline"));
  const auto program_of = [&](int every) {
    const Workload workload =
        grouped(fmt::format("size: 4, members: consecutive, sync_every: {}", every), TableKind::pooled,
                "input_exchange: full\npipeline: sparse_dist\ndense: {layers: [{name: over, in: 128, out: 64}], "
                "parameters_bytes: 20 MB}\n");
    return of_world(plan_of_four(Strategy::row_wise), workload, cluster);
  };
  const auto time_of = [&](const Program& program, bool averages) {
    std::vector<OpWork> works = expand_ops(program, cluster, *compute, {});
    for (const Op& op : program.ops)
      for (OpWork::Call& call : works[static_cast<std::size_t>(op.id)].calls) {
        if (averages || op.role != OpRole::average_replicas) continue;
        call.loads.start = {};
        call.loads.loads.clear();
      }
    return iteration_time(program, cluster, works, *make_network(named("fair_queues")), {}).ms();
  };
  const double with = time_of(program_of(1), true), without = time_of(program_of(1), false);
  CHECK(with > 1.01 * without);
  bool one_hides = false;
  for (const int every : {2, 5, 64, 10'000}) {
    const Program program = program_of(every);
    const double mean = (with + (every - 1) * without) / every;
    CHECK(time_of(program, true) == doctest::Approx(mean).epsilon(1e-12));
    const SimulationResult result =
        simulate(program, cluster, *compute, *make_network(named("fair_queues")), EngineOptions{});
    CHECK(result.timeline.iteration_ms == time_of(program, true));
    REQUIRE(result.rare);
    CHECK(result.rare->with.ms() == doctest::Approx(with).epsilon(1e-12));
    CHECK(result.rare->without.ms() == doctest::Approx(without).epsilon(1e-12));
    double sum = 0;
    for (const PathStep& step : result.path.steps) sum += step.seconds * 1e3;
    CAPTURE(sum / mean - 1);
    CHECK(sum == doctest::Approx(mean).epsilon(1e-6));  // as near as iterations are that are called steady
    // The time as it was computed before: each iteration has an N-th part.
    std::vector<OpWork> works = expand_ops(program, cluster, *compute, {});
    const double charged = iteration_time(program_of(1), cluster, works, *make_network(named("fair_queues")), {}).ms();
    one_hides = one_hides || charged < 0.999 * mean;
  }
  CHECK(one_hides);
}

TEST_CASE("sharding groups of a node exchange no vector across nodes") {
  const Program program =
      of_world(plan_of_four(Strategy::row_wise), grouped("size: 4, members: consecutive"), toy_cluster());
  for (const Op& op : program.ops)
    if (op.op_class == OpClass::all_to_all) CHECK(moved(program, op).off_node == 0);
}

TEST_CASE("tables take as much memory as in one group, and buffers follow the group") {
  const Cluster cluster = toy_cluster();
  const Workload workload = grouped("size: 4");
  const auto groups = GroupedWorld::of(workload, cluster);
  const Plan plan = groups->of_world(plan_of_four(Strategy::table_wise));
  const Program program = lower(plan, workload, cluster, {});
  const MemoryProfile profile = memory_profile(program, simulated(program, cluster), plan, workload);
  const Program alone = lower(plan_of_four(Strategy::table_wise), grouped(""), groups->cluster(), {});
  const MemoryProfile of_four =
      memory_profile(alone, simulated(alone, groups->cluster()), plan_of_four(Strategy::table_wise), grouped(""));
  for (std::size_t rank = 0; rank < 8; ++rank) {
    CHECK(profile.ranks[rank].amounts[MemoryPart::tables] == of_four.ranks[rank / 2].amounts[MemoryPart::tables]);
    CHECK(profile.ranks[rank].bytes() == of_four.ranks[rank / 2].bytes());
  }
  const auto model = make_memory_model(named("torchrec"));
  const auto per_rank = memory_per_rank(plan, workload, cluster, *model);
  const auto per_position = memory_per_rank(plan_of_four(Strategy::table_wise), grouped(""), groups->cluster(), *model);
  for (std::size_t rank = 0; rank < 8; ++rank) CHECK(per_rank[rank] == per_position[rank / 2]);
}

TEST_CASE("a Program of sharding groups is read back as it was written") {
  for (const Strategy strategy : {Strategy::table_wise, Strategy::row_wise, Strategy::data_parallel}) {
    Program program = of_world(plan_of_four(strategy), grouped("size: 4, sync_every: 3"), toy_cluster());
    program.case_name = "groups";
    CHECK(program_from_tree(parse_json(program_to_json(program), "test")) == program);
  }
}

TEST_CASE("groups that do not fit the world, and what cannot be in groups, are refused") {
  const auto of = [](const std::string& groups) {
    return error_of([&] { GroupedWorld::of(grouped(groups), toy_cluster()); });
  };
  CHECK(of("size: 3").find("do not divide the world of 8") != std::string::npos);
  CHECK(of("size: 16").find("do not divide the world of 8") != std::string::npos);
  CHECK(of("size: 0").find("size") != std::string::npos);
  CHECK(of("size: 4").empty());
  const auto uneven = [](const std::string& groups) {
    return error_of([&] { GroupedWorld::of(grouped(groups), nodes_of_four(3)); });
  };
  CHECK(uneven("size: 6").empty());
  CHECK(uneven("size: 4").find("unevenly") != std::string::npos);
  CHECK(uneven("size: 4, members: consecutive").empty());
  CHECK(uneven("size: 6, members: consecutive").find("unevenly") != std::string::npos);
  CHECK(error_of([] {
          grouped("size: 4", TableKind::pooled, "embedding_kernels: hugectr\ninput_exchange: full\n");
        }).find("sharding groups are TorchRec's") != std::string::npos);
  CHECK(error_of([] {
          grouped("size: 4, strategy: fully_sharded", TableKind::sequence);
        }).find("fully sharded tables are pooled") != std::string::npos);
  CHECK(error_of([] {
          grouped("size: 4, strategy: fully_sharded, sync_states: false");
        }).find("no state is averaged") != std::string::npos);
  CHECK(error_of([] {
          grouped("size: 4, strategy: fully_sharded", TableKind::pooled,
                  "input_exchange: full\npipeline: semi_sync\ndense: {layers: [{name: over, in: 128, out: 8}]}\n");
        }).find("cannot be used with pipeline: semi_sync") != std::string::npos);
  Plan apart = plan_of_four(Strategy::table_wise);
  apart.placements.front().compute_kernel = "dense";
  CHECK(error_of([&] {
          of_world(apart, grouped("size: 4, strategy: fully_sharded"), toy_cluster());
        }).find("of the kernel fused") != std::string::npos);
  Plan hosted = plan_of_four(Strategy::table_wise);
  hosted.placements.front().compute_kernel = "fused_uvm";
  CHECK(error_of([&] { of_world(hosted, grouped("size: 4"), toy_cluster()); }).find("lie with the host") !=
        std::string::npos);
}

}  // namespace shardsim::sharding_groups_test
