#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "program/timeline/named_times.h"
#include "tests/physics/two_tables.h"

namespace shardsim::pipelines_test {

// Pipelines, compute kernels and small clusters: every plan of them is lowered and runs, and what overlaps is faster.

using namespace shardsim::physics;

TEST_CASE("one node, nodes of one rank, one rank: every planner's plan is lowered and runs, pooled and sequence") {
  for (const auto& shape : {std::pair{1, 4}, {3, 1}, {1, 1}}) {
    ClusterSpec spec = cluster_spec("toy_2x4.yaml", shape.first);
    spec.gpu.count = shape.second;
    const Cluster cluster(spec);
    for (const TableKind kind : {TableKind::pooled, TableKind::sequence}) {
      const Workload workload = two_tables_of(kind, "pipeline: prefetch_sparse_dist\n");
      for (const std::string& planner : every_planner()) {
        CAPTURE(shape.first);
        CAPTURE(shape.second);
        CAPTURE(planner);
        if (kind == TableKind::pooled && planner.find("flexshard") != std::string::npos) continue;  // sequences only
        const Program program = lowered(planner, workload, cluster);
        for (const Op& op : program.ops) {
          if (op.is_collective()) CHECK(program.groups.at(op.group).front().size() > 1);
        }
        CHECK(simulated(program, cluster, "closed_form").iteration_ms >= 0);
      }
    }
  }
}

TEST_CASE("kernels in host memory cost host traffic, and a cache less than none") {
  const auto iteration = [](const std::string& kernel, const std::string& pipeline) {
    Workload workload = two_tables_of(TableKind::pooled, "pipeline: " + pipeline + "\n");
    for (Table& table : workload.tables) {
      table.rows *= 1000;
      table.access.family = "zipf";
      table.access.s = 1.1;
    }
    Plan plan = plan_of(Strategy::row_wise);
    for (Placement& placement : plan.placements) {
      placement.row_end *= 1000;
      placement.compute_kernel = kernel;
    }
    ClusterSpec spec = cluster_spec("toy_2x4.yaml");
    spec.host.gpu_link_bandwidth = Bandwidth{1e8};  // slow, so that it counts
    const Cluster cluster(spec);
    return simulated(lowered_plan(plan, workload, cluster), cluster).iteration_ms;
  };
  for (const std::string pipeline : {"none", "sparse_dist", "prefetch_sparse_dist"}) {
    CAPTURE(pipeline);
    const double resident = iteration("fused", pipeline);
    const double cached = iteration("fused_uvm_caching", pipeline);
    const double host = iteration("fused_uvm", pipeline);
    CHECK(resident <= cached);
    if (pipeline != "prefetch_sparse_dist") CHECK(resident < cached);
    CHECK(cached < host);
  }
  // Fetched for the next batch while this one trains.
  CHECK(iteration("fused_uvm_caching", "prefetch_sparse_dist") < iteration("fused_uvm_caching", "sparse_dist"));
  Plan plan = plan_of(Strategy::row_wise);
  plan.placements[0].compute_kernel = "quant";
  CHECK_THROWS_AS(lowered_plan(plan, two_tables_of(TableKind::pooled), toy_cluster()), Error);
}

TEST_CASE("a pipeline hides the exchange of ids, and keeps the streams of TorchRec's") {
  const auto timeline = [](const std::string& pipeline) {
    Workload workload = two_tables_of(
        TableKind::pooled, "pipeline: " + pipeline + "\ndense: {layers: [{name: top, in: 512, out: 4096}]}\n");
    workload.batch_per_gpu = 4096;
    return simulated(lowered_plan(plan_of(Strategy::table_wise), workload, toy_cluster()), toy_cluster());
  };
  const double none = timeline("none").iteration_ms;
  CHECK(timeline("sparse_dist").iteration_ms < none);
  CHECK(timeline("prefetch_sparse_dist").iteration_ms < none);
  const Program program =
      lowered_plan(plan_of(Strategy::table_wise), two_tables_of(TableKind::pooled, "pipeline: prefetch_sparse_dist\n"),
                   toy_cluster());
  CHECK(program.streams ==
        std::vector<std::string>{"compute", "world", "node", "cross", "memcpy", "data_dist", "prefetch", "host"});
  // On the world's stream: lengths and ids of the next batch, outputs and gradients of this one, splits of the one
  // after.
  std::vector<std::string> world;
  for (const Op& op : program.ops) {
    if (program.streams[static_cast<std::size_t>(op.stream)] == "world") world.push_back(op.name);
  }
  CHECK(world == std::vector<std::string>{"input_lengths_all_to_all", "input_all_to_all", "global_all_to_all",
                                          "global_all_to_all", "input_splits_all_to_all"});
}

// Every sharding type in one plan file, pooled tables and histories (scenarios/mixed.yaml).
TEST_CASE("the shipped mixture runs under each pipeline, and TorchRec's hides most of the exchange of ids") {
  const StudyResult result = run_study(read_scenario(shipped_path("mixed.yaml"), {}), {2, {}, {}});
  REQUIRE(result.cases.size() == 3);
  const auto exposed_ids = [](const Timeline& timeline) {
    double ms = 0;
    for (const NamedTime& time : named_times(timeline)) {
      if (time.name.starts_with("input_")) ms += time.exposed_ms;
    }
    return ms;
  };
  std::set<Strategy> strategies;
  for (const CaseResult& item : result.cases) {
    CAPTURE(item.name);
    CHECK(item.timeline.steady);
    CHECK(std::accumulate(item.timeline.bytes_out.begin(), item.timeline.bytes_out.end(), std::int64_t{0}) ==
          std::accumulate(item.timeline.bytes_in.begin(), item.timeline.bytes_in.end(), std::int64_t{0}));
    for (const PlacementSummary& placement : item.placements) strategies.insert(placement.strategy);
  }
  CHECK(strategies.size() == strategy_names().size());
  CHECK(result.cases[1].timeline.iteration_ms < result.cases[0].timeline.iteration_ms);
  CHECK(exposed_ids(result.cases[1].timeline) < 0.2 * exposed_ids(result.cases[0].timeline));
}

// Otherwise batches would pile up on the device: the host waits once an iteration, and launches later batches behind
// it.
TEST_CASE("copies and permutes of later batches wait for the host; without exchanges, for the batch three before") {
  const auto lowered_as = [](Strategy strategy, const std::string& pipeline) {
    return lowered_plan(plan_of(strategy), two_tables_of(TableKind::pooled, "pipeline: " + pipeline + "\n"),
                        toy_cluster());
  };
  for (const std::string pipeline : {"sparse_dist", "prefetch_sparse_dist"}) {
    CAPTURE(pipeline);
    const Program program = lowered_as(Strategy::table_wise, pipeline);
    const int wait = ops_named(program, "host_wait").at(0)->id;
    CHECK(ops_named(program, "h2d_copy").at(0)->after_previous == std::vector<int>{wait});
    const Op& permute = *ops_named(program, "feature_permute").at(0);
    const std::vector<int>& behind = permute.id < wait ? permute.after_previous : permute.after;
    CHECK(std::count(behind.begin(), behind.end(), wait) == 1);
    const Program copies = lowered_as(Strategy::data_parallel, pipeline);
    CHECK(ops_named(copies, "h2d_copy").at(0)->after_previous == std::vector<int>{copies.ops.back().id});
  }
}

// One lookup for sums, one for means.
TEST_CASE("the dense part waits for every lookup of replicated tables") {
  Workload workload = two_tables_of(TableKind::pooled, "dense: {layers: [{name: top, in: 128, out: 64}]}\n");
  workload.tables[1].pooling = "mean";
  const Program program = lowered_plan(plan_of(Strategy::data_parallel), workload, toy_cluster());
  const auto lookups = ops_named(program, "lookup_data_parallel");
  REQUIRE(lookups.size() == 2);
  CHECK(ops_named(program, "dense_forward").at(0)->after == std::vector<int>{lookups[0]->id, lookups[1]->id});
}

}  // namespace shardsim::pipelines_test
