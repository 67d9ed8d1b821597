#include <algorithm>

#include "plan/planner.h"
#include "tests/study/scenario_text.h"

namespace shardsim::compared_planners_test {

using namespace shardsim::test;

namespace {

std::string toy(const std::string& more) {
  return "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\n" + more;
}

std::vector<std::string> names_of(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const Case& item : scenario.cases) names.push_back(item.name);
  return names;
}

using Names = std::vector<std::string>;

Overrides by_planners(const Names& planners, const std::string& only = "") {
  Overrides overrides;
  overrides.planners = planners;
  if (!only.empty()) overrides.only_cases = {only};
  return overrides;
}

}  // namespace

TEST_CASE("each planner of a list makes a case of its own, under its name or label") {
  const Scenario scenario =
      read(toy("planners: [row_wise, {name: column_wise, min_partition: 32, label: narrow}, {name: column_wise}]\n"
               "cases: [{name: a}, {name: b, planner: {name: flex}}, {name: c, planners: [table_wise]}]\n"));
  CHECK(names_of(scenario) == Names{"a/row_wise", "a/narrow", "a/column_wise", "b", "c/table_wise"});
  const Case& narrow = scenario.cases.at(1);
  REQUIRE(narrow.compared);
  CHECK(narrow.compared->group == "a");
  CHECK(narrow.compared->label == "narrow");
  CHECK(!narrow.compared->unasked);
  CHECK(narrow.planner.find("min_partition")->scalar == "32");
  CHECK(narrow.planner.find("label") == nullptr);
  CHECK(narrow.workload.name == "toy_history");
  CHECK(!scenario.cases.at(3).compared);
}

TEST_CASE("all means every planner with its defaults, beside which others may stand") {
  const Scenario all = read(toy("planners: all\n"));
  REQUIRE(all.cases.size() == planners().size());
  for (std::size_t i = 0; i < all.cases.size(); ++i) {
    CHECK(all.cases[i].name == "main/" + std::string(planners()[i].name));
    CHECK(all.cases[i].compared->unasked);
  }
  const Scenario more = read(toy("planners: [all, {name: torchrec, objective: simulated, label: simulated}]\n"));
  CHECK(more.cases.size() == all.cases.size() + 1);
  CHECK(!more.cases.back().compared->unasked);
}

TEST_CASE("a list of planners is refused where it is wrong, at its place") {
  CHECK(says(scenario_error(toy("planners: [row_wise, {name: column_wise, min_partition: none}]\n")), "min_partition"));
  CHECK(says(scenario_error(toy("planners: [row_wise, {name: column_wise, width: 3}]\n")), "width"));
  CHECK(says(scenario_error(toy("planners: [row_wise, no_such]\n")), "unknown planner 'no_such'"));
  CHECK(says(scenario_error(toy("planners: []\n")), "'planners' is empty"));
  CHECK(says(scenario_error(toy("planners: {name: row_wise}\n")), "neither 'all' nor a list"));
  CHECK(says(scenario_error(toy("planners: [{min_partition: 3}]\n")), "name"));
  CHECK(
      says(scenario_error(toy("planners: [random, {name: random, seed: 3}]\n")), "two planners are called \"random\""));
  CHECK(says(scenario_error(toy("planners: [random, {name: random, seed: 3}]\n")), "label"));
  CHECK(says(scenario_error(toy("planners: [{name: random, label: A B}]\n")), "is no name of a case"));
  CHECK(says(scenario_error(toy("planners: all\nplanner: {name: row_wise}\n")), "beside"));
  CHECK(says(scenario_error(toy("planners: all\ncases: [{name: a, repeat: 3}]\n")),
             "'repeat' and 'planners' cannot be used together"));
  CHECK(says(scenario_error(toy("planners: all\ncases: [{name: a}, {name: b, relative_to: a}]\n")),
             "'relative_to' and 'planners' cannot be used together"));
  CHECK(says(scenario_error("schema: shardsim.scenario/1\ncluster: toy_2x4\nplanners: all\njobs: []\n"),
             "'planners' and 'jobs' cannot be used together"));
  CHECK(says(scenario_error(toy("memory_model: {name: torchrec}\nplanners: [{name: torchrec, variant: guide}]\n")),
             "rules about memory"));
}

TEST_CASE("--planners replaces the plans of the chosen cases; those that differ in nothing else become one") {
  const std::string cases =
      "planner: {name: row_wise}\n"
      "cases:\n"
      "  - {name: m/rows}\n"
      "  - {name: m/drawn, planner: {name: random}, repeat: 2}\n"
      "  - {name: m/flex, planner: {name: flex}, relative_to: m/rows}\n"
      "  - {name: four, set: {cluster.nodes: 4}, relative_to: m/rows}\n";
  const Scenario all = read(toy(cases), by_planners({"row_wise", "flex"}));
  CHECK(names_of(all) == Names{"m/row_wise", "m/flex", "four/row_wise", "four/flex"});
  CHECK(all.cases.front().compared->also == Names{"m/rows", "m/drawn", "m/flex"});
  CHECK(all.cases.back().compared->also.empty());
  const Scenario one = read(toy(cases), by_planners({"flex"}, "four"));
  CHECK(names_of(one) == Names{"m/rows", "m/drawn/1", "m/drawn/2", "m/flex", "four/flex"});
  CHECK(says(scenario_error(toy(cases), by_planners({"no_such"})), "unknown planner 'no_such'"));
  const Scenario named = read(toy("cases: [{name: a, planner: {name: flex}}, {name: b, planner: {name: row_wise}}]\n"),
                              by_planners({"all"}));
  CHECK(named.cases.front().compared->group == "toy_history");
}

TEST_CASE("constraints of a scenario are read with places, for tables that are there") {
  const Scenario scenario =
      read(toy("planner: {name: torchrec}\nconstraints: {\"*\": {sharding_types: [row_wise, flex]}, "
               "history: {compute_kernels: [fused_uvm_caching], cache_load_factor: 0.3, min_partition: 64}}\n"));
  const Constraints& constraints = scenario.cases.at(0).constraints;
  CHECK(constraints.of("history")->caches.load_factor.value() == doctest::Approx(0.3));
  CHECK(constraints.of("history")->sharding_types.empty());
  CHECK(constraints.of("another")->sharding_types.size() == 2);
  const auto refused = [](const std::string& map) {
    return scenario_error(toy("planner: {name: torchrec}\nconstraints: " + map + "\n"));
  };
  CHECK(says(refused("{histroy: {min_partition: 4}}"), "Did you mean 'history'?"));
  CHECK(says(refused("{history: {sharding_types: []}}"), "sharding_types: the list is empty"));
  CHECK(says(refused("{history: {sharding_types: [rows]}}"), "rows"));
  CHECK(says(refused("{history: {compute_kernels: [fast]}}"), "unknown compute kernel"));
  CHECK(says(refused("{history: {device_group: cpu}}"), "device group cpu"));
  CHECK(says(refused("{history: {compute_kernels: [fused], cache_load_factor: 0.3}}"), "no effect"));
  CHECK(says(refused("{history: {max_rows: 4}}"), "max_rows"));
  CHECK(says(refused("[history]"), "must be a map, but is a list"));
}

}  // namespace shardsim::compared_planners_test
