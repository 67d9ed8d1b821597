#include <doctest/doctest.h>

#include "base/error.h"
#include "base/tree/yaml.h"
#include "study/scenario/read_planner.h"
#include "tests/study/scenario_text.h"

namespace shardsim::read_case_test {

namespace {

Tree options(const char* yaml) {
  return parse_yaml(yaml, "rules.yaml");
}

}  // namespace

TEST_CASE("a rule said to the planner or to the memory model holds for both") {
  Tree planner = options("{name: torchrec, variant: guide}");
  Tree memory = options("{name: torchrec, run_embedding_at_peak_memory: true, rules: {cache_aux: true}}");
  share_torchrec_rules(planner, memory);
  for (const Tree& tree : {planner, memory}) {
    REQUIRE(tree.find("variant"));
    CHECK(tree.find("variant")->scalar == "guide");
    REQUIRE(tree.find("rules"));
    REQUIRE(tree.find("run_embedding_at_peak_memory"));
    CHECK(tree.find("run_embedding_at_peak_memory")->scalar == "true");
  }
  const Tree once = planner;
  share_torchrec_rules(planner, memory);
  CHECK(planner == once);
}

TEST_CASE("a rule of the memory model reaches the planners of some tables") {
  for (const char* yaml : {"{name: per_table, tables: {a: row_wise, b: {name: torchrec}}}",
                           "{name: per_table, tables: {a: {name: flexshard_2tier, pooled: {name: torchrec}}}}",
                           "{name: flexshard_3tier, pooled: {name: torchrec}}"}) {
    Tree planner = options(yaml), memory = options("{name: torchrec, variant: guide}");
    share_torchrec_rules(planner, memory);
    const std::vector<const Tree*> within = planners_within(std::as_const(planner));
    REQUIRE_FALSE(within.empty());
    CHECK(within.front() == &planner);
    const Tree& torchrec = *within.back();
    REQUIRE(torchrec.find("variant"));
    CHECK(torchrec.find("variant")->scalar == "guide");
    CHECK_FALSE(planner.find("variant"));
  }
}

TEST_CASE("contradicting rules are refused where the memory model says them") {
  Tree planner = options("{name: torchrec, variant: guide}");
  Tree memory = options("{name: torchrec, variant: code}");
  CHECK_THROWS_WITH_AS(share_torchrec_rules(planner, memory), doctest::Contains("memory_model.variant"), Error);
}

TEST_CASE("other planners, other memory models and plans from files are left alone") {
  Tree planner = options("{name: row_wise}"), none;
  Tree memory = options("{name: torchrec, variant: guide}"), paper = options("{name: paper}");
  share_torchrec_rules(planner, memory);
  share_torchrec_rules(none, memory);
  CHECK_FALSE(planner.find("variant"));
  CHECK(none.kind == Tree::Kind::null);
  Tree torchrec = options("{name: torchrec, variant: guide}");
  share_torchrec_rules(torchrec, paper);
  CHECK_FALSE(paper.find("variant"));
}

TEST_CASE("the observed payload is asked for where a workload states one, and nowhere else") {
  const std::string head = "schema: shardsim.scenario/1\ncluster: toy_2x4\nplanner: {name: row_wise}\n";
  CHECK(test::read(head + "workload: rm1\n").cases[0].payload_both);
  CHECK(test::read(head + "workload: rm1\npayload: both\n").cases[0].payload_both);
  CHECK(!test::read(head + "workload: rm1\npayload: planned\n").cases[0].payload_both);
  CHECK(test::read(head + "workload: toy_history\n").cases[0].payload_both);
  CHECK(says(
      test::scenario_error(head + "workload: toy_history\npayload: both\n"),
      "test.yaml:5:10: 'payload: both' has no effect: no table of workload \"toy_history\" states what was observed"));
}

TEST_CASE("drawn batches take the scenario's seed where the load says none") {
  const std::string head =
      "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: row_wise}\nseed: 11\n";
  CHECK(test::read(head + "load: {batches: drawn}\n").cases[0].load.seed == 11);
  CHECK(test::read(head + "load: {batches: drawn}\n").cases[0].load.iterations == 40);
  CHECK(test::read(head + "load: {batches: drawn, seed: 5}\n").cases[0].load.seed == 5);
}

TEST_CASE("drawn batches are refused where they cannot be simulated, with place") {
  const std::string head = "schema: shardsim.scenario/1\ncluster: toy_2x4\n";
  const std::string drawn = head + "workload: toy_history\nplanner: {name: row_wise}\nload: {batches: drawn}\n";
  const auto refused = [](const std::string& text, const char* part, const Overrides& overrides = {}) {
    CHECK(says(test::scenario_error(text, overrides), part));
  };
  refused(drawn + "iterations: 6\n", "test.yaml:6:13: 'iterations' has no effect when batches are drawn");
  refused(drawn + "steady: 1e-3\n", "'steady' has no effect when batches are drawn");
  refused(drawn, "batches cannot be drawn for 2048 ranks", test::set("cluster.nodes", "512"));
  refused(head + "workload: toy_history\nplanner: {name: row_wise}\nload: {batches: drawn, iterations: 0}\n",
          "load.iterations");
  refused(head + "workload: toy_history\nplanner: {name: row_wise}\nload: {batches: drawn, iterations: 2000}\n",
          "Give 'load.iterations' of at most 256", test::set("cluster.nodes", "256"));
  refused(
      head +
          "load: {batches: drawn}\njobs: [{name: a, workload: toy_history, planner: {name: row_wise}, nodes: [0]}]\n",
      "batches cannot be drawn for 'jobs'");
  refused(drawn + "cross_check: {}\ncases: [{name: a}, {name: b}, {name: c}]\n",
          "'cross_check' beside case \"a\", whose batches are drawn");
  const std::string table =
      "tables: [{name: t, rows: 10, dim: 4, kind: sequence, average_length: 2, length_distribution: ";
  const auto with_lengths = [&](const std::string& lengths) {
    return head +
           "planner: {name: row_wise}\nload: {batches: drawn}\nworkload: {schema: shardsim.workload/1, name: w, "
           "batch_per_gpu: 4, " +
           table + lengths + "}]}\n";
  };
  CHECK(test::scenario_error(with_lengths("{family: poisson}")).empty());
  refused(with_lengths("{family: file, file: " SHARDSIM_SOURCE_DIR "/README.md}"),
          "lengths that are stored in a file cannot be drawn");
  refused(with_lengths("{family: histogram, lengths: [{length: 2, share: 0}]}"), "add up to 0");
  refused(with_lengths("{family: histogram, lengths: [{length: 0, share: 1}]}"), "have the mean 0 here");
  refused(with_lengths("{family: log_normal, sigma: 6}"), "sigma");
  refused(with_lengths("{family: log_normal, sigma: 0}"), "sigma");
}

}  // namespace shardsim::read_case_test
