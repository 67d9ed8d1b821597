#include "study/scenario/dropped_edits.h"

#include <doctest/doctest.h>

#include "base/files.h"
#include "tests/temporary_folder.h"

namespace shardsim::dropped_edits_test {

namespace {

constexpr const char* kHead = "schema: shardsim.scenario/1\nworkload: toy_history\nplanner: {name: row_wise}\n";

using Settings = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> dropped(const std::string& scenario, const Settings& settings) {
  const TemporaryFolder folder("dropped_edits");
  const std::string path = (folder / "s.yaml").string();
  write_file(path, kHead + scenario);
  Overrides overrides;
  overrides.set = settings;
  read_scenario(path, overrides);
  return dropped_edits(path, overrides);
}

bool says(const std::vector<std::string>& sentences, const std::string& part) {
  return sentences.size() == 1 && sentences.front().find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("what is said beside a base goes with it, and is told with its cases") {
  const std::string scenario =
      "cluster: {base: toy_2x4, nodes: 4}\ncases: [{name: a}, {name: b, set: {cluster.nics.rate: 1 Gbit/s}}]\n";
  const std::vector<std::string> said = dropped(scenario, {{"cluster", "dgx_h100"}});
  REQUIRE(said.size() == 2);
  CHECK(said[0].find("the whole cluster of a; dropped with it: nodes 4.") != std::string::npos);
  CHECK(said[0].find("--set cluster.nodes=VALUE") != std::string::npos);
  CHECK(said[1].find("the whole cluster of b; dropped with it: nodes 4, nics.rate 1 Gbit/s.") != std::string::npos);
}

TEST_CASE("what is said again, or was not said beside a base, is no loss") {
  const std::string scenario = "cluster: {base: toy_2x4, nodes: 4}\n";
  CHECK(dropped(scenario, {{"cluster", "dgx_h100"}, {"cluster.nodes", "4"}}).empty());
  CHECK(dropped(scenario, {{"cluster", "{base: dgx_h100, nodes: 2}"}}).empty());
  CHECK(dropped(scenario, {{"cluster.nodes", "2"}}).empty());
  CHECK(dropped("cluster: toy_2x4\n", {{"cluster", "dgx_h100"}}).empty());
}

TEST_CASE("a later change of a whole drops earlier ones inside it") {
  CHECK(says(dropped("cluster: toy_2x4\n", {{"cluster.nodes", "8"}, {"cluster", "dgx_h100"}}), "nodes 8"));
}

TEST_CASE("options of a planner and of software go with it when its name comes alone") {
  const std::string planner = "cluster: toy_2x4\ncases: [{name: a, planner: {name: random, seed: 3}}]\n";
  CHECK(says(dropped(planner, {{"planner", "{name: random}"}}), "seed 3"));
  CHECK(dropped(planner, {{"planner", "{name: row_wise}"}}).empty());  // another planner has other options
  const std::string software = "cluster: dgx_h100\nsoftware: {name: torchrec_eager, launch: 3 us}\n";
  CHECK(says(dropped(software, {{"software", "torchrec_compiled"}}), "launch 3 us"));
}

TEST_CASE("edits in an included file count as well") {
  const TemporaryFolder folder("dropped_included");
  write_file((folder / "inner.yaml").string(), std::string(kHead) + "cluster: {base: toy_2x4, nodes: 4}\n");
  const std::string path = (folder / "outer.yaml").string();
  write_file(path, "schema: shardsim.scenario/1\ninclude: [inner.yaml]\n");
  Overrides overrides;
  overrides.set = {{"cluster", "dgx_h100"}};
  CHECK(says(dropped_edits(path, overrides), "nodes 4"));
}

}  // namespace shardsim::dropped_edits_test
