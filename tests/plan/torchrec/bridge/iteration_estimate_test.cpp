#include <doctest/doctest.h>

#include "plan/planners/steps.h"
#include "plan/torchrec/bridge/choice.h"
#include "plan/torchrec/bridge/given_plan.h"
#include "tests/plan/test_setting.h"

// Worked by hand for one table of 1000 x 128 fp32, 10 ids a sample, batch 100, on 2 nodes of 4 ranks: HBM 1e9 bytes per
// ms, 8e7 inside a node (NCCL counts 20 of a link's 25 GB/s at 8.0, so 80 of the 100 that are stated), 1e7 between
// nodes. Formulas: torchrec/distributed/planner/shard_estimators.py.

namespace shardsim::torchrec::iteration_estimate_test {
namespace {

Workload one_table() {
  Table table = sequence_table("a", 1000, 128);
  table.kind = TableKind::pooled;
  table.features = {{"a", 10, 1, false}};
  table.average_length = 10;
  return workload_of({table}, 100);
}

IterationEstimate estimated(Strategy strategy, std::vector<int> ranks) {
  const Workload workload = one_table();
  const Cluster cluster = test_cluster(2, 4);
  const Plan plan = uniform_plan(workload, strategy, {std::move(ranks)}, 1);
  return estimate_iteration(plan, workload, planner_request({}, workload, cluster));
}

doctest::Approx near(double value) {
  return doctest::Approx(value).epsilon(1e-9).scale(value);
}

}  // namespace

TEST_CASE("table_wise: one rank looks everything up and sends it") {
  const IterationEstimate estimate = estimated(Strategy::table_wise, {3});
  const double lookup = (64'000 + 4'096'000 + 409'600) / 1e9;  // ids, rows, vectors
  const double all_to_all = 2 * 409'600 / 1e7;
  CHECK(estimate.busiest == 3);
  CHECK(estimate.iteration_ms == near(lookup + 2 * lookup + all_to_all));
  CHECK(estimate.mean.lookup == near(lookup / 8));
  CHECK(estimate.mean.update == near(2 * lookup / 8));
  CHECK(estimate.mean.all_to_all == near(all_to_all / 8));
  CHECK(estimate.mean.total() == near(estimate.iteration_ms / 8));
}

TEST_CASE("row_wise: every rank has the same, its copies of gradients are no collective") {
  const IterationEstimate estimate = estimated(Strategy::row_wise, {0, 1, 2, 3, 4, 5, 6, 7});
  const double lookup = (8'000 + 512'000 + 409'600) / 1e9;
  CHECK(estimate.mean.lookup == near(lookup));
  CHECK(estimate.mean.update == near(2 * lookup));
  CHECK(estimate.mean.reduce_scatter == near(2 * 409'600 / 1e7));
  CHECK(estimate.mean.copies == near(409'600 * 2.455 / 1e9));
  CHECK(estimate.mean.all_to_all == 0);
  CHECK(estimate.iteration_ms == near(estimate.mean.total()));
}

TEST_CASE("table_row_wise: sums inside the node, then one exchange across nodes") {
  const IterationEstimate estimate = estimated(Strategy::table_row_wise, {4, 5, 6, 7});
  CHECK(estimate.busiest == 4);
  CHECK(estimate.mean.reduce_scatter == near(2 * 409'600 / 8e7 / 2));  // half of the ranks take part
  CHECK(estimate.mean.all_to_all == near(2 * 102'400 / 1e7 / 2));
  CHECK(estimate.mean.copies == near(409'600 * 2.455 / 1e9 / 2));
  CHECK(estimate.iteration_ms == near(2 * estimate.mean.total()));
}

TEST_CASE("rows of a sequence move by all-to-all under every type") {
  Workload workload = one_table();
  workload.tables[0].kind = TableKind::sequence;
  const Cluster cluster = test_cluster(2, 4);
  for (const auto& [strategy, ranks] :
       {std::pair<Strategy, std::vector<int>>{Strategy::row_wise, {0, 1, 2, 3, 4, 5, 6, 7}},
        {Strategy::table_row_wise, {0, 1, 2, 3}}}) {
    const Plan plan = uniform_plan(workload, strategy, {ranks}, 1);
    const auto mean = estimate_iteration(plan, workload, planner_request({}, workload, cluster)).mean;
    CHECK(mean.all_to_all > 0);
    CHECK(mean.reduce_scatter == 0);
  }
}

TEST_CASE("data_parallel: the optimizer kernels count as update") {
  const IterationEstimate estimate = estimated(Strategy::data_parallel, {0, 1, 2, 3, 4, 5, 6, 7});
  const double lookup = (8'000 + 512'000 + 51'200) / 5e8;  // kernel dense: half of the bandwidth
  CHECK(estimate.mean.lookup == near(lookup));
  CHECK(estimate.mean.update == near(2 * lookup + 512'000 * 9.22 / 5e8));
  CHECK(estimate.mean.all_reduce == near(512'000 * 1.5 / 4e7));
  CHECK(estimate.mean.copies == 0);
  CHECK(estimate.iteration_ms == near(estimate.mean.total()));
}

TEST_CASE("of the planner's own choice it is what the planner minimised") {
  Workload workload = one_table();
  for (int copy = 1; copy < 9; ++copy) {
    Table table = workload.tables[0];
    table.name += std::to_string(copy);
    table.rows *= static_cast<std::uint64_t>(copy * copy);
    table.dim = copy % 2 == 0 ? 64 : 256;
    workload.tables.push_back(table);
  }
  const Cluster cluster = test_cluster(2, 4);
  const auto memory = paper_memory();
  PlannerOptions defaults;
  const Choice choice = choose_plan(defaults, workload, cluster, {*memory, 1, {}});
  const IterationEstimate estimate = estimate_iteration(choice.plan, workload, planner_request({}, workload, cluster));
  CHECK(estimate.iteration_ms == near(choice.run.rating));
}

}  // namespace shardsim::torchrec::iteration_estimate_test
