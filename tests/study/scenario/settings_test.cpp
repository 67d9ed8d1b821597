#include "study/scenario/case_trees.h"
#include "tests/study/scenario_text.h"

namespace shardsim::settings_test {

using namespace shardsim::test;

namespace {

const std::string kCases = R"(
schema: shardsim.scenario/1
cluster: toy_2x4
workload: toy_history
planner: {name: row_wise}
cases:
  - {name: base}
  - {name: large, relative_to: base, set: {workload.tables.history.rows: 9000}}
)";

const std::string kJobs = R"(
schema: shardsim.scenario/1
cluster: toy_2x4
cases:
  - {name: alone, workload: toy_history, planner: {name: row_wise}}
  - name: together
    jobs:
      - {name: one, workload: toy_history, planner: {name: row_wise}, nodes: [0]}
      - {name: two, workload: toy_history, planner: {name: row_wise}, nodes: [1]}
)";

std::vector<std::string> kept(const std::string& text, const std::vector<std::size_t>& positions) {
  Scenario scenario = read(text);
  keep_cases(scenario, positions);
  std::vector<std::string> names;
  for (const Case& item : scenario.cases) names.push_back(item.name);
  return names;
}

}  // namespace

TEST_CASE("a table is addressed by its name, in `set` and in --set") {
  CHECK(read(kCases).cases[1].workload.tables[0].rows == 9000);
  CHECK(read(kCases, set("workload.tables.history.rows", "7000")).cases[0].workload.tables[0].rows == 7000);
  CHECK(read(kCases, set("workload.tables.0.rows", "7000")).cases[0].workload.tables[0].rows == 7000);
  CHECK(says(scenario_error(kCases, set("workload.tables.histori.rows", "7000")), "Known: history"));
}

TEST_CASE("a top key is not emptied by --set") {
  for (const char* const key : {"seed", "title", "cross_check"}) {
    Overrides overrides;
    overrides.set.emplace_back(key, "");
    const std::string wrong = scenario_error(kCases, overrides);
    CHECK(wrong.find(std::string("argument --set ") + key) != std::string::npos);
    CHECK(wrong.find("has no value") != std::string::npos);
  }
}

TEST_CASE("with --case changes hold for the cases that its patterns fit") {
  const Scenario scenario = read(kCases, set("workload.batch_per_gpu", "8", "la*"));
  CHECK(scenario.cases[0].workload.batch_per_gpu != 8);
  CHECK(scenario.cases[1].workload.batch_per_gpu == 8);
  CHECK(read(kJobs, set("cluster.nodes", "3", "together/*")).cases[1].cluster.nodes == 3);
  CHECK(read(kJobs, set("cluster.nodes", "3", "tog*two")).cases[0].cluster.nodes == 2);
}

TEST_CASE("cases that are left out are gone; a job keeps those beside it on its fabric") {
  CHECK(kept(kCases, {1}) == std::vector<std::string>{"large"});
  CHECK(kept(kJobs, {0}) == std::vector<std::string>{"alone"});
  CHECK(kept(kJobs, {2}) == std::vector<std::string>{"together/one", "together/two"});
}

}  // namespace shardsim::settings_test
