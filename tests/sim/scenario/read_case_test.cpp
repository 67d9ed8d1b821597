#include "sim/scenario/read_case.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/tree/yaml.h"
#include "tests/sim/scenario_text.h"

using namespace shardsim;

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
  CHECK(test::says(test::error_of(head + "workload: toy_history\npayload: both\n"),
                   "test.yaml:5:10: 'payload: both', but no table of workload \"toy_history\" says what was observed"));
}
