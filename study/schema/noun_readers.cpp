#include "study/schema/noun_readers.h"

#include "base/files.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "models/compute/compute_model.h"
#include "models/load/load_options.h"
#include "models/software/software.h"
#include "plan/constraints.h"
#include "plan/memory_model.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "sim/engine/network.h"
#include "study/scenario/drift_options.h"
#include "study/scenario/named_tree.h"
#include "study/scenario/read_case.h"
#include "study/scenario/scenario.h"
#include "study/sweep/sweep.h"
#include "topology/graph/cluster.h"

namespace shardsim {
namespace {

// Files of specimens are named from their folder.
void locate(Tree& tree, const std::string& folder) {
  if (tree.scalar.starts_with("../")) tree.scalar = folder + "/" + tree.scalar;
  for (Tree& item : tree.items) locate(item, folder);
  for (auto& [key, value] : tree.fields) locate(value, folder);
}

// One bare specimen per row of an interface's table.
template <typename Entry>
std::vector<Tree> one_of_each(std::span<const Entry> table) {
  std::vector<Tree> trees;
  for (const Entry& entry : table) trees.push_back(named_map(std::string(entry.name)));
  return trees;
}

// A file's own keys, and what they say with its base below.
void read_whole_workload(const Tree& tree) {
  MapReader(tree, "").choice("schema", {"shardsim.workload/1"});
  read_workload(whole_tree(tree, "workloads", ""), "");
}

void read_any_scenario(const Tree& tree) {
  if (tree.find("sweep") != nullptr) {
    sweep_from_tree(tree, "", "specimen", {}, {});
  } else {
    scenario_from_tree(tree, "", "specimen", {});
  }
}

std::function<void(const Tree&)> plan_reader(const Tree& specimens) {
  const Workload workload = read_workload(specimens.find("plan_workload")->items.front(), "");
  const Cluster cluster(read_cluster(specimens.find("plan_cluster")->items.front()));
  return [workload, cluster](const Tree& tree) { plan_from_tree(tree, workload, cluster); };
}

}  // namespace

std::vector<NounReader> noun_readers() {
  const std::string folder = (data_folder() / "scenarios" / "specimens").string();
  Tree specimens = read_yaml_file(folder + "/schemas.yaml");
  locate(specimens, folder);
  const SoftwareTable software = shipped_software();
  std::vector<NounReader> nouns{
      {"planner", [](const Tree& tree) { make_planner(tree); }, one_of_each(planners())},
      {"software", [software](const Tree& tree) { software_from_tree(tree, software); }, {}},
      {"compute_model", [](const Tree& tree) { make_compute_model(tree); }, one_of_each(compute_models())},
      {"memory_model", [](const Tree& tree) { make_memory_model(tree); }, one_of_each(memory_models())},
      {"network", [](const Tree& tree) { make_network(tree); }, one_of_each(networks())},
      {"load",
       [](const Tree& tree) {
         read_load_options({tree, "load"}, {});
       },
       {}},
      {"drift", [](const Tree& tree) { read_drift(tree); }, {}},
      {"cross_check", [](const Tree& tree) { read_cross_check(tree); }, {}},
      {"constraints", [](const Tree& tree) { read_constraints(tree); }, {}},
      {"workload", read_whole_workload, {}},
      {"plan", plan_reader(specimens), {}},
      {"scenario", read_any_scenario, {}}};
  for (NounReader& noun : nouns) {
    const std::vector<Tree>& more = specimens.find(noun.name)->items;
    noun.specimens.insert(noun.specimens.end(), more.begin(), more.end());
  }
  return nouns;
}

}  // namespace shardsim
