// Planners judge balance by the shares that the owners of rows really get.

#include <doctest/doctest.h>

#include "tests/physics/lab.h"

namespace shardsim::planning_by_load_test {

using namespace shardsim::physics;

namespace {

// Ids in the order of popularity: the first block of rows gets nearly all lookups, which even shares do not show.
Case skewed_case(const std::string& planner) {
  Case item;
  item.name = "skewed";
  item.cluster = cluster_spec("toy_2x4.yaml");
  item.cluster.gpu.sort_per_lookup = Seconds{1.5e-9};  // so slow that rows, and not the network, decide
  std::string tables;
  for (int i = 0; i < 8; ++i) {
    tables += "  - {name: t" + std::to_string(i) +
              ", rows: 400000, dim: 64, kind: pooled, pooling_factor: " + std::to_string(4 + 9 * i) +
              ", row_order: popularity, access: {family: zipf, s: 1.1}}\n";
  }
  item.workload = read_workload(
      parse_yaml("schema: shardsim.workload/1\nname: skewed\nbatch_per_gpu: 2048\ntables:\n" + tables, "test"), "");
  item.planner = parse_yaml(planner, "test");
  item.memory_model = named("paper");
  item.compute_model = named("roofline");
  item.network = named("fair_queues");
  return item;
}

Plan plan_with(Case item, LoadOptions::RowShares shares) {
  item.load.row_shares = shares;
  return make_plan(item, Cluster(item.cluster), 7, {});
}

double real_ms(const Case& item, const Plan& plan) {
  const Cluster cluster(item.cluster);
  return simulated(make_program(item, cluster, plan, Scenario{}, false), cluster).iteration_ms;
}

}  // namespace

TEST_CASE("a plan that was chosen by real shares is quicker with them than one that was chosen by even ones") {
  // One sharding type for all tables: of these two, cuts by rows look better as long as their owners look alike.
  const std::string simulated_choice =
      "{name: torchrec, objective: simulated, proposers: [uniform], candidates: 20, constraints: {\"*\": "
      "{sharding_types: [row_wise, table_wise, column_wise], compute_kernels: [fused]}}}";
  for (const std::string& planner : {simulated_choice, std::string("{name: search, evaluations: 4000}")}) {
    CAPTURE(planner);
    const Case item = skewed_case(planner);
    const Plan real = plan_with(item, LoadOptions::RowShares::real);
    const Plan even = plan_with(item, LoadOptions::RowShares::even);
    CHECK(real.placements != even.placements);
    CHECK(real_ms(item, real) < 0.95 * real_ms(item, even));
  }
}

}  // namespace shardsim::planning_by_load_test
