#include "study/planning/lower_bound.h"

#include <doctest/doctest.h>

#include "sim/engine/op_work.h"
#include "study/planning/prepared_case.h"
#include "tests/physics/random_plans.h"

// No plan may be faster than the bound that reports measure plans by.
namespace shardsim::physics::lower_bound_test {
namespace {

const std::string kLayers =
    "{layers: [{name: bottom_0, in: 64, out: 256}, {name: top_0, in: 512, out: 1024}, {name: top_1, in: 1024, out: "
    "1}]}";

Case case_of(const Workload& workload, const Cluster& cluster) {
  Case item;
  item.name = "bound";
  item.cluster = cluster.spec();
  item.workload = workload;
  item.compute_model = named("roofline");
  return item;
}

double simulated_ms(const Plan& plan, const Workload& workload, const Cluster& cluster, const std::string& network) {
  const Program program = lower(plan, workload, cluster, {});
  if (network == "simgrid") return simulated(program, cluster).iteration_ms;
  const auto compute = make_compute_model(named("roofline"));
  const auto engine = make_network(named(network));
  return simulate(program, cluster, *compute, *engine, {}).timeline.iteration_ms;
}

}  // namespace

// Without contention iterations are shorter, so that the closed form is the harder test; some are simulated as well.
TEST_CASE("no random plan is faster than the lower bound of its workload") {
  const std::vector<std::string> pipelines = {"none", "sparse_dist", "prefetch_sparse_dist"};
  const std::vector<std::string> optimizers = {"rowwise_adagrad", "adagrad", "sgd", "adam"};
  double nearest = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    RandomChoice choice{torchrec_strategies()};
    choice.pipeline = pipelines[seed % pipelines.size()];
    choice.optimizer = optimizers[seed / 3 % optimizers.size()];
    choice.dense = seed % 2 == 0 ? "{}" : kLayers;
    choice.kernels = {"fused", "fused", "dense"};
    RandomPlan made = random_plan(seed, choice);
    if (seed % 4 == 0) made = deduplicated(std::move(made));
    const double bound = lower_bound(case_of(made.workload, *made.cluster), *made.cluster).ms();
    const double time = simulated_ms(made.plan, made.workload, *made.cluster, "closed_form");
    CHECK(bound > 0);
    CHECK(bound <= time);
    nearest = std::max(nearest, bound / time);
    if (seed % 20 == 0) CHECK(bound <= simulated_ms(made.plan, made.workload, *made.cluster, "simgrid"));
  }
  CHECK(nearest > 0.5);  // a bound that is far from every plan says nothing
}

// Large and small tables, one kind of plan at a time, on one node and on several: where the bound is near some of them.
TEST_CASE("no planner is faster than the lower bound, and the best come near it") {
  for (const int nodes : {1, 4}) {
    const Cluster cluster(cluster_spec("dgx_a100_80gb.yaml", nodes));
    for (const char* const workload : {"crosscheck_40.yaml", "dlrm_3.yaml", "dlrm_criteo_1tb.yaml"}) {
      const Workload of = shipped_workload(workload);
      const double bound = lower_bound(case_of(of, cluster), cluster).ms();
      double best = 1e300;
      for (const char* const planner : {"row_wise", "table_wise", "column_wise", "data_parallel", "table_row_wise",
                                        "grid_shard", "flex", "memory_balanced"}) {
        CAPTURE(planner);
        CAPTURE(workload);
        const double time =
            simulated_ms(planned("{name: " + std::string(planner) + "}", of, cluster), of, cluster, "closed_form");
        CHECK(bound <= time);
        best = std::min(best, time);
      }
      CHECK(bound > 0.2 * best);
    }
  }
}

TEST_CASE("rows in tiers stay above the bound, and so does a measured rest") {
  const Cluster cluster(cluster_spec("a100_mesh_4x8.yaml"));
  for (const char* const name : {"rm1.yaml", "rm2.yaml"}) {
    Workload workload = shipped_workload(name);
    for (const bool measured : {true, false}) {
      if (!measured) workload.dense.measured.reset();
      const double bound = lower_bound(case_of(workload, cluster), cluster).ms();
      CHECK(bound > 0);
      for (const char* const planner : {"row_wise", "flex", "flexshard_2tier", "flexshard_3tier", "data_parallel"}) {
        CAPTURE(planner);
        const Plan plan = planned("{name: " + std::string(planner) + "}", workload, cluster);
        CHECK(bound <= simulated_ms(plan, workload, cluster, "closed_form"));
      }
    }
  }
}

// Where little else counts than what the bound counts, it is near, and each of its parts is needed.
TEST_CASE("one GPU alone has nothing to choose but its kernels: the bound is their compute, nearly") {
  const Cluster cluster(cluster_spec("a100_80gb_single.yaml"));
  for (const char* const optimizer : {"sgd", "adagrad", "adam"}) {
    CAPTURE(optimizer);
    const Workload workload = read_workload(
        parse_yaml(fmt::format("schema: shardsim.workload/1\nname: hot\nbatch_per_gpu: 32768\ninput_exchange: none\n"
                               "optimizer: {{name: {}}}\ntables:\n  - {{name: t, copies: 10, rows: 400000, dim: 128, "
                               "kind: pooled, pooling_factor: 40}}\n",
                               optimizer),
                   "test"),
        "");
    const double bound = lower_bound(case_of(workload, cluster), cluster).ms();
    double least = 1e300;
    for (const char* const kernel : {"fused", "dense"}) {
      Plan plan = planned("{name: table_wise}", workload, cluster);
      for (Placement& placement : plan.placements) placement.compute_kernel = kernel;
      least = std::min(least, simulated_ms(plan, workload, cluster, "closed_form"));
    }
    CHECK(bound <= least);
    CHECK(bound > 0.97 * least);
  }
}

// A batch of one sample leaves nothing but starts: those of one lookup and one update for every kind of table. An
// update is one kernel here (sorted_update_kernels), as the bound takes it to be.
TEST_CASE("kernels that have hardly anything to do still start: the bound is their starts, nearly") {
  ClusterSpec spec = cluster_spec("a100_80gb_single.yaml");
  spec.gpu.sorted_update_kernels = 1;
  const Cluster cluster(spec);
  std::string tables;
  for (const char* const table :
       {"{name: a, copies: 3, rows: 100, dim: 4, kind: pooled}",
        "{name: b, rows: 100, dim: 4, kind: pooled, pooling: mean}",
        "{name: c, rows: 100, dim: 4, kind: pooled, features: [{name: c, weighted: true, weight_gradient: false}]}"}) {
    CAPTURE(std::string(table));
    tables += fmt::format("  - {}\n", table);
    const Workload workload =
        read_workload(parse_yaml("schema: shardsim.workload/1\nname: tiny\nbatch_per_gpu: 1\ninput_exchange: none\n"
                                 "optimizer: {name: sgd}\ntables:\n" +
                                     tables,
                                 "test"),
                      "");
    const double bound = lower_bound(case_of(workload, cluster), cluster).ms();
    const double time =
        simulated_ms(planned("{name: table_wise}", workload, cluster), workload, cluster, "closed_form");
    CHECK(bound <= time);
    CHECK(bound > 0.97 * time);
  }
}

TEST_CASE("a bound that leaves out lookups and updates says so") {
  const Cluster cluster(cluster_spec("a100_mesh_4x8.yaml"));
  Case item = case_of(shipped_workload("rm1.yaml"), cluster);
  CHECK(lower_bound_lacks(item).empty());  // its measured rest says what they take
  item.workload.dense.measured.reset();
  CHECK(lower_bound_lacks(item).empty());
  item.compute_model = named("measured");
  CHECK(lower_bound_lacks(item) == "lookups and updates, which the compute model measured tells size by size");
}

TEST_CASE("the bound contains the dense part as the software of the case runs it") {
  const Cluster cluster(cluster_spec("dgx_a100_80gb.yaml", 2));
  Case item = case_of(
      read_workload(parse_yaml("schema: shardsim.workload/1\nname: deep\nbatch_per_gpu: 16384\ndense: " + kLayers +
                                   "\ntables:\n  - {name: t, rows: 1000, dim: 16, kind: pooled}\n",
                               "test"),
                    ""),
      cluster);
  const double without = lower_bound(item, cluster).ms();
  item.software = Software{};
  item.software->fused = false;  // an operator each for biases and activations
  const Program program = lower(planned("{name: data_parallel}", item.workload, cluster), item.workload, cluster,
                                lowering_options(item, false));
  const auto compute = make_compute_model(item.compute_model);
  double dense = 0;
  const std::vector<OpWork> works = expand_ops(program, cluster, *compute, {});
  for (std::size_t op = 0; op < works.size(); ++op) {
    const OpRole role = program.ops[op].role;
    if (role >= OpRole::bottom_forward && role <= OpRole::bottom_backward && !works[op].is_collective())
      dense += works[op].seconds.front() * 1e3;
  }
  const double bound = lower_bound(item, cluster).ms();
  CHECK(bound > without);
  CHECK(bound >= 0.99 * dense);
}

TEST_CASE("small tables are replicated rather than exchanged, and the bound knows it") {
  const Cluster cluster(cluster_spec("dgx_a100_80gb.yaml", 4));
  const Workload workload = read_workload(
      parse_yaml("schema: shardsim.workload/1\nname: small\nbatch_per_gpu: 65536\ninput_exchange: none\ntables:\n"
                 "  - {name: t, copies: 20, rows: 1000, dim: 128, kind: pooled, pooling_factor: 1}\n",
                 "test"),
      "");
  const double bound = lower_bound(case_of(workload, cluster), cluster).ms();
  const double replicated =
      simulated_ms(planned("{name: data_parallel}", workload, cluster), workload, cluster, "closed_form");
  CHECK(bound <= replicated);
  CHECK(bound > 0.7 * replicated);
  CHECK(replicated <
        0.2 * simulated_ms(planned("{name: table_wise}", workload, cluster), workload, cluster, "closed_form"));
}

// The work of its kernels on several streams is left out; gradients of replicated rows travel in the type of the one
// call.
TEST_CASE("no plan is faster than the lower bound with HugeCTR's kernels and pipeline, either") {
  const Cluster cluster(cluster_spec("dgx_a100_80gb.yaml", 2));
  for (const char* const table : {"copies: 6, rows: 1000000, dim: 128, pooling_factor: 20",
                                  "copies: 20, rows: 1000, dim: 128, pooling_factor: 1"}) {
    CAPTURE(std::string(table));
    const Workload workload = read_workload(
        parse_yaml(
            fmt::format("schema: shardsim.workload/1\nname: hugectr\nbatch_per_gpu: 8192\npipeline: hugectr\n"
                        "embedding_kernels: hugectr\noutput_exchange: uniform\noptimizer: {{name: adagrad}}\n"
                        "wire_dtype: {{forward: fp16, backward: fp16}}\ndense: {{all_reduce: {{calls: one, dtype: "
                        "fp16}}, layers: [{{name: bottom, in: 13, out: 512}}, {{name: top, in: 1024, out: 1024, "
                        "repeat: 8}}]}}\ntables:\n  - {{name: t, kind: pooled, {}}}\n",
                        table),
            "test"),
        "");
    const Case item = case_of(workload, cluster);
    const double bound = lower_bound(item, cluster).ms();
    CHECK(lower_bound_lacks(item).find("HugeCTR") != std::string::npos);
    double least = 1e300;
    for (const char* const planner : {"{name: row_wise}", "{name: hugectr}", "{name: data_parallel}"}) {
      least = std::min(least, simulated_ms(planned(planner, workload, cluster), workload, cluster, "closed_form"));
    }
    CHECK(bound > 0.3 * least);
    CHECK(bound <= least);
  }
}

}  // namespace shardsim::physics::lower_bound_test
