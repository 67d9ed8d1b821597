// The costs that neuroshard and greedy expect of a plan equal its closed-form simulation: they use the lowering's
// numbers, each kernel over the sum of a rank's pieces.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

#include "base/tree/yaml.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/scenario.h"

namespace shardsim::column_costs_test {
namespace {

// Kernels so slow that they, and not exchanges, are most of an iteration.
Scenario scenario_of(int nodes, int gpus, const std::string& workload_keys, const std::string& planner) {
  return scenario_from_text(fmt::format(R"(
schema: shardsim.scenario/1
title: test
cluster:
  name: test
  nodes: {}
  gpu: {{model: toy, count: {}, compute_capability: "8.0", hbm: "10 GB", hbm_bandwidth: "1000 GB/s", sort_per_lookup: "1.5 ns", flops: {{fp32: "10 TFLOP/s"}}}}
  nvlink: {{kind: switch, links_per_gpu: 1, per_link: "100 GB/s", latency: "1 us"}}
  nics: {{per_gpu: 1, rate: "80 Gbit/s", latency: "2 us"}}
workload:
  name: test
  batch_per_gpu: 1024
  optimizer: {{name: sgd}}
  {}
  tables:
    - {{name: a, copies: 5, rows: 100000, dim: 64, kind: pooled, pooling_factor: 20}}
    - {{name: b, copies: 3, rows: 1000000, dim: 128, kind: pooled, pooling_factor: 1}}
    - {{name: c, rows: 5000000, dim: 256, kind: pooled, pooling_factor: 30}}
    - {{name: d, rows: 1000, dim: 12, kind: pooled, features: [{{name: f0, pooling_factor: 1}}, {{name: f1, pooling_factor: 40}}]}}
memory_model: {{name: paper}}
compute_model: {{name: roofline}}
planner: {}
network: {{name: closed_form}}
cases: [{{name: case}}]
)",
                                        nodes, gpus, workload_keys, planner),
                            "test.yaml", {});
}

struct Costed {
  double cost_ms = 0, simulated_ms = 0;
};

Costed costed(const Scenario& scenario) {
  std::map<std::string, double> figures;
  const Case& item = scenario.cases.front();
  const Cluster cluster = cluster_of(item);
  const Plan plan =
      make_plan(item, cluster, 1, {{}, {}, [&](const std::string& name, double value) { figures[name] = value; }});
  const PreparedCase prepared(scenario, item, cluster, plan);
  return {figures.at("cost_ms"), simulate_case(prepared, *prepared.network()).timeline.iteration_ms};
}

}  // namespace

TEST_CASE("neuroshard's cost of its plan is the closed form of the iteration") {
  for (const auto& [nodes, gpus] : {std::pair{1, 1}, {1, 4}, {2, 2}, {2, 4}}) {
    for (const std::string keys : {"input_exchange: none", "input_exchange: ids", "wire_dtype: {forward: fp16}"}) {
      for (const std::string planner : {"{name: neuroshard}", "{name: neuroshard, rounds: 0}"}) {
        CAPTURE(nodes);
        CAPTURE(gpus);
        CAPTURE(keys);
        const Costed found = costed(scenario_of(nodes, gpus, keys, planner));
        CHECK(found.cost_ms == doctest::Approx(found.simulated_ms).epsilon(0.02));
      }
    }
  }
}

TEST_CASE("one kernel for each table: seconds of pieces add up") {
  const Costed found =
      costed(scenario_of(1, 4, "input_exchange: none\n  embedding_kernels: per_table", "{name: neuroshard}"));
  CHECK(found.cost_ms == doctest::Approx(found.simulated_ms).epsilon(0.02));
}

}  // namespace shardsim::column_costs_test
