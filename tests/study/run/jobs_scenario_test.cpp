#include <doctest/doctest.h>

#include "study/run/study.h"
#include "study/scenario/scenario.h"
#include "tests/base/error_text.h"
#include "tests/study/scenario_text.h"

namespace shardsim::jobs_scenario_test {

// `jobs` of a scenario: what becomes of them, what is refused.

using namespace shardsim::test;

namespace {

const std::string kHead = "schema: shardsim.scenario/1\ncluster: {base: toy_2x4, nodes: 4}\n";
const std::string kTwo =
    "jobs:\n"
    "  - {name: a, workload: toy_history, planner: {name: row_wise}, nodes: [0, 2]}\n"
    "  - {name: b, workload: rm1, planner: {name: flexshard_2tier}, nodes: \"1-3:2\", start: 5 us}\n";

// One job with these keys beside its name, on line 4.
std::string job(const std::string& keys) {
  return kHead + "jobs:\n  - {name: a, " + keys + "}\n";
}

const std::string kGood = "workload: toy_history, planner: {name: row_wise}, nodes: [0]";

}  // namespace

TEST_CASE("each job is a case on its nodes of the one cluster") {
  const Scenario scenario = read(kHead + kTwo);
  REQUIRE(scenario.cases.size() == 2);
  const Case &a = scenario.cases[0], &b = scenario.cases[1];
  CHECK(a.name == "a");
  CHECK(a.workload.name == "toy_history");
  CHECK(a.cluster.nodes == 4);
  REQUIRE(a.job);
  REQUIRE(b.job);
  CHECK(a.job->nodes == std::vector<int>{0, 2});
  CHECK(b.job->nodes == std::vector<int>{1, 3});
  CHECK(a.iterations == 20);
  CHECK(a.job->start == Seconds{});
  CHECK(b.job->start == Seconds{5e-6});
  REQUIRE(scenario.fabrics.size() == 1);
  CHECK(scenario.fabrics[0].name == "main");
  CHECK(scenario.fabrics[0].jobs == std::vector<std::size_t>{0, 1});
  CHECK(b.planner.find("name")->scalar == "flexshard_2tier");
  CHECK(cluster_of(b).nodes() == 2);
}

TEST_CASE("cases with jobs stand beside others: the later of jobs and a workload drops the other") {
  const Scenario scenario =
      read(kHead + "workload: toy_history\nplanner: {name: row_wise}\ncases:\n  - {name: one}\n" +
           "  - name: two\n    set: {cluster.nodes: 3}\n    jobs: &jobs\n" + "      - {name: x, " + kGood +
           "}\n      - {name: y, " + "workload: toy_history, planner: {name: flex}, nodes: [2]}\n" +
           "  - {name: three, jobs: *jobs}\n");
  std::vector<std::string> names;
  for (const Case& item : scenario.cases) names.push_back(item.name);
  CHECK(names == std::vector<std::string>{"one", "two/x", "two/y", "three/x", "three/y"});
  CHECK(!scenario.cases[0].job);
  REQUIRE(scenario.fabrics.size() == 2);
  CHECK(scenario.fabrics[0].name == "two");
  CHECK(scenario.fabrics[0].jobs == std::vector<std::size_t>{1, 2});
  CHECK(scenario.cases[1].cluster.nodes == 3);
  CHECK(scenario.fabrics[1].name == "three");
  CHECK(scenario.fabrics[1].jobs == std::vector<std::size_t>{3, 4});
}

TEST_CASE("a case that is left out leaves the other jobs on their fabric") {
  Scenario scenario = read(kHead + "workload: toy_history\nplanner: {name: row_wise}\ncases:\n  - {name: one}\n" +
                           "  - name: two\n    jobs: [{name: x, " + kGood + "}, {name: y, workload: toy_history, " +
                           "planner: {name: flex}, nodes: [2]}]\n");
  scenario.keep([](const Case& item) { return item.name == "two/y"; });
  REQUIRE(scenario.cases.size() == 1);
  REQUIRE(scenario.fabrics.size() == 1);
  CHECK(scenario.fabrics[0].jobs == std::vector<std::size_t>{0});
  scenario.keep([](const Case&) { return false; });
  CHECK(scenario.fabrics.empty());
}

TEST_CASE("--set reaches into jobs") {
  CHECK(read(kHead + kTwo, set("jobs.1.start", "7 ms")).cases[1].job->start == Seconds{7e-3});
  CHECK(read(kHead + kTwo, set("jobs.1.planner.memory_budget", "1 GiB")).cases[1].planner.find("memory_budget"));
  CHECK(read(kHead + kTwo, set("jobs.0.workload", "rm2")).cases[0].workload.name == "rm2");
  CHECK(read(kHead + kTwo, set("jobs.0.workload.batch_per_gpu", "3")).cases[0].workload.batch_per_gpu == 3);
  CHECK(read(kHead + kTwo, set("jobs.0.plan", "{file: p.json}")).cases[0].plan_file == "p.json");
  CHECK(read(kHead + kTwo, set("cluster.nodes", "5", "b")).cases[0].cluster.nodes == 5);
  const std::string cases = kHead + "cases:\n  - name: two\n    jobs: [{name: a, " + kGood + "}]\n";
  CHECK(read(cases, set("cluster.nodes", "5", "two/a")).cases[0].cluster.nodes == 5);
  CHECK(read(cases, set("cluster.nodes", "5", "other")).cases[0].cluster.nodes == 4);
  CHECK(says(scenario_error(kHead + kTwo, set("jobs.2.start", "7 ms")), "jobs are numbered 0 to 1"));
  CHECK(says(scenario_error(kHead + kTwo, set("jobs.0.strat", "7 ms")), "Did you mean 'start'"));
  CHECK(says(scenario_error(kHead + kTwo, set("jobs.x", "7 ms")), "does not name a key of a job"));
  CHECK(says(scenario_error(kHead + kTwo, set("planner.name", "flex")), "Write jobs.NUMBER.planner.name"));
  CHECK(says(scenario_error(kHead + kTwo, set("workload", "rm1")), "the case has jobs"));
  CHECK(says(scenario_error(kHead + kTwo, set("jobs", "[]")), "argument --set jobs"));
}

TEST_CASE("jobs that cannot be are refused with their place") {
  CHECK(scenario_error(job(kGood)).empty());
  CHECK(says(scenario_error(kHead + "jobs: []\n"), "test.yaml:3:7: 'jobs' is empty"));
  CHECK(says(scenario_error(kHead + "jobs: 3\n"), "test.yaml:3:7: 'jobs' is no list"));
  CHECK(says(scenario_error(kHead + "jobs:\n"), "'jobs' is no list"));
  CHECK(says(scenario_error(kHead + "jobs: [a]\n"), "a job must be a map, but is a text"));
  CHECK(says(scenario_error(kHead + "workload: rm1\n" + kTwo),
             "test.yaml:3:11: 'workload' and 'jobs' cannot be used together"));
  CHECK(says(scenario_error(kHead + "planner: {name: flex}\n" + kTwo), "'planner' and 'jobs' cannot be used together"));
  CHECK(says(scenario_error(kHead + "plan: {file: p.json}\n" + kTwo), "'plan' and 'jobs' cannot be used together"));
  CHECK(says(scenario_error(kHead + "cases:\n  - {name: c, workload: rm1, jobs: [{name: a, " + kGood + "}]}\n"),
             "'workload' and 'jobs' cannot be used together"));
  CHECK(says(scenario_error(kHead + kTwo + "cases:\n  - {name: c, relative_to: d}\n"),
             "'relative_to' and 'jobs' cannot be used together"));
  CHECK(
      says(scenario_error(kHead + kTwo + "  - {name: a, " + kGood + "}\n"), "test.yaml:6:5: two jobs are named \"a\""));
  CHECK(says(scenario_error(kHead + kTwo + "  - {name: c, " + kGood + "}\n"), "test.yaml:6:"));
  CHECK(says(scenario_error(kHead + kTwo + "  - {name: c, " + kGood + "}\n"), "node 0 already belongs to job \"a\""));
  CHECK(says(scenario_error(kHead + kTwo + "  - {name: A b, " + kGood + "}\n"), "is no name of a job"));
  CHECK(says(scenario_error(kHead + "jobs:\n  - {" + kGood + "}\n"), "'jobs.0.name' is missing"));
}

TEST_CASE("keys of a job that are wrong or missing are refused with their place") {
  const std::string plan = "workload: toy_history, planner: {name: row_wise}, ";
  CHECK(says(scenario_error(job("workload: toy_history, planner: {name: row_wise}")), "'nodes' is missing"));
  CHECK(says(scenario_error(job(plan + "nodes: []")), "a node set is missing or empty"));
  CHECK(says(scenario_error(job(plan + "nodes: [0, 4]")), "node 4 is outside the cluster of 4 nodes"));
  CHECK(says(scenario_error(job(plan + "nodes: \"0-4\"")), "test.yaml:4:"));
  CHECK(says(scenario_error(job(plan + "nodes: [1, 1]")), "node 1 is named twice"));
  CHECK(says(scenario_error(job(plan + "nodes: [-1]")), "test.yaml:4:"));
  CHECK(says(scenario_error(job(kGood + ", start: 5")), "test.yaml:4:"));
  CHECK(says(scenario_error(job(kGood + ", start: -1 s")), "test.yaml:4:"));
  CHECK(says(scenario_error(job(kGood + ", start: 1e9 s")), "test.yaml:4:"));
  CHECK(says(scenario_error(job(kGood + ", strat: 5 s")), "Did you mean 'start'"));
  CHECK(says(scenario_error(job(kGood + ", iterations: 3")), "unknown key"));
  CHECK(says(scenario_error(job(kGood + ", plan: {file: p.json}")), "a planner and a plan"));
  CHECK(says(scenario_error(job("planner: {name: row_wise}, nodes: [0]")), "has no workload"));
  CHECK(says(scenario_error(job("workload: toy_history, nodes: [0]")), "has no planner"));
  CHECK(says(scenario_error(job("workload: rm9, planner: {name: row_wise}, nodes: [0]")), "unknown workload"));
  CHECK(says(scenario_error(job("workload: rm1, planner: {name: row_wis}, nodes: [0]")), "Did you mean 'row_wise'"));
}

TEST_CASE("starts and lengths that no run would bridge are refused with their place") {
  const auto refused = [](const std::string& text) -> std::string {
    return input_error_of([&] { check_job_groups(read(text), {}); });
  };
  CHECK(refused(kHead + "jobs:\n  - {name: a, " + kGood +
                "}\n  - {name: b, workload: toy_history, planner: {name: flex}, nodes: [1]}\n")
            .empty());
  CHECK(says(refused(kHead + "jobs:\n  - {name: a, " + kGood +
                     "}\n  - {name: b, workload: toy_history, planner: {name: flex}, nodes: [1], start: 3600 s}\n"),
             "before job \"b\" starts"));
  CHECK(says(refused(kHead + "jobs:\n  - {name: a, " + kGood +
                     "}\n  - {name: b, workload: {base: rm1, batch_per_gpu: 512}, planner: {name: row_wise}, nodes: "
                     "[1, 2, 3]}\n"),
             "of more similar length"));
}

}  // namespace shardsim::jobs_scenario_test
