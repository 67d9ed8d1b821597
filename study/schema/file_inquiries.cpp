#include "base/tree/json.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "plan/plan_file.h"
#include "study/scenario/named_tree.h"
#include "study/scenario/scenario.h"
#include "study/schema/inquiries.h"
#include "study/schema/specimens.h"
#include "study/sweep/sweep.h"
#include "topology/graph/cluster.h"

namespace shardsim {
namespace {

std::vector<Tree> parsed(const std::vector<std::string>& texts) {
  std::vector<Tree> trees;
  for (const std::string& text : texts) trees.push_back(parse_yaml_value(text, {"specimen", 0, 0}));
  return trees;
}

// A file's own keys, and what they say with its base below.
Tree whole_file(const Tree& tree, const std::string& kind, const std::string& schema) {
  MapReader(tree, "").choice("schema", {schema});
  return whole_tree(tree, kind, "");
}

void read_any_scenario(const Tree& tree) {
  if (tree.find("sweep") != nullptr) {
    sweep_from_tree(tree, "", "specimen", {}, {});
  } else {
    scenario_from_tree(tree, "", "specimen", {});
  }
}

}  // namespace

Inquiry workload_inquiry() {
  return {.read = [](const Tree& tree) { read_workload(whole_file(tree, "workloads", "shardsim.workload/1"), ""); },
          .specimens = parsed(workload_specimens()),
          .values = workload_values()};
}

Inquiry plan_inquiry() {
  const Workload workload = read_workload(parse_yaml(plan_workload(), "specimen"), "");
  const Cluster cluster(read_cluster(parse_yaml(plan_cluster(), "specimen")));
  return {.read = [workload, cluster](const Tree& tree) { plan_from_tree(tree, workload, cluster); },
          .specimens = parsed(plan_specimens()),
          .values = plan_values()};
}

Inquiry scenario_inquiry() {
  return {.read = read_any_scenario, .specimens = parsed(scenario_specimens()), .values = scenario_values()};
}

}  // namespace shardsim
