#include <doctest/doctest.h>

#include <filesystem>

#include "base/files.h"
#include "plan/plan_file.h"
#include "study/planning/prepared_case.h"
#include "study/sweep/point_simulator.h"
#include "study/sweep/read_sweep.h"
#include "tests/temporary_folder.h"

namespace shardsim::kept_plans_ahead_test {

namespace {

constexpr const char* kScenario =
    "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\npayload: planned\n"
    "planner: {name: row_wise}\nsweep:\n  keep_plan: true\n  axes:\n"
    "    planner: [row_wise, {name: random, seed: 3}, {name: flexshard_2tier, memory_budget: 1 KiB},\n"
    "      {name: torchrec, label: buckets, constraints: {'*': {sharding_types: [row_wise], total_num_buckets: 10}}}]\n"
    "    cluster.nics.rate: [10 Gbit/s, 20 Gbit/s]\n";

}  // namespace

TEST_CASE("plans that are made ahead give the same points as plans that are made on demand") {
  const Sweep sweep = sweep_from_text(kScenario, "test.yaml", {}, {});
  PointSimulator ahead(sweep), on_demand(sweep);
  ahead.make_kept_plans({0, 1, 2, 3, 4, 5, 6, 7}, {2, {}, {}});
  int planned = 0;
  for (std::size_t point = 0; point < sweep.points.size(); ++point) {
    const PointResult result = ahead.simulate(point);
    CHECK(result == on_demand.simulate(point));
    planned += result.outcome == PointResult::Outcome::ok ? 1 : 0;
  }
  CHECK(planned >= 6);
}

TEST_CASE("a plan that was made ahead is not made again") {
  const TemporaryFolder folder("kept_plans_ahead");
  const std::string file = (folder.path() / "plan.json").string();
  const Sweep made = sweep_from_text(kScenario, "test.yaml", {}, {});
  Overrides overrides;
  overrides.set = {{"plan", "{file: " + file + "}"}};
  const std::string text = std::string(kScenario);
  const std::string of_file = text.substr(0, text.find("planner: {name: row_wise}")) +
                              "planner: {name: row_wise}\nsweep:\n  keep_plan: true\n"
                              "  axes: {cluster.nics.rate: [10 Gbit/s, 20 Gbit/s]}\n";
  {
    PointCases cases(made);
    const Case item = cases.at(0);
    const Cluster cluster = cluster_of(item);
    write_file(file, plan_to_json(make_plan(item, cluster, 1, {}), item.workload, cluster));
  }
  const Sweep sweep = sweep_from_text(of_file, "test.yaml", overrides, {});
  PointSimulator simulator(sweep), late(sweep);
  simulator.make_kept_plans({0, 1}, {1, {}, {}});
  std::filesystem::remove(file);
  CHECK(simulator.simulate(0).outcome == PointResult::Outcome::ok);
  CHECK(simulator.simulate(1).outcome == PointResult::Outcome::ok);
  CHECK(late.simulate(0).outcome == PointResult::Outcome::failed);
}

}  // namespace shardsim::kept_plans_ahead_test
