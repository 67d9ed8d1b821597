#include "study/schema/file_schema.h"

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/fields/fields.h"
#include "base/files.h"
#include "base/schema/json_schema.h"
#include "base/tree/map_reader.h"
#include "base/tree/tree.h"
#include "base/tree/yaml.h"
#include "models/compute/compute_model.h"
#include "models/load/load_options.h"
#include "models/software/software.h"
#include "models/workload/workload_keys.h"
#include "plan/constraints.h"
#include "plan/memory_model.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "sim/engine/network.h"
#include "study/scenario/drift_options.h"
#include "study/scenario/named_tree.h"
#include "study/scenario/read_case.h"
#include "study/scenario/scenario.h"
#include "study/sweep/read_sweep.h"
#include "topology/graph/cluster.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

struct FileKind {
  const char* name;
  const char* title;
  bool describes_itself;  // its structs say their keys (base/fields/)
};

constexpr std::array kKinds{FileKind{"cluster", "a cluster file of shardsim", true},
                            FileKind{"plan", "a plan file of shardsim or TorchRec", false},
                            FileKind{"scenario", "a scenario of shardsim", false},
                            FileKind{"workload", "a workload file of shardsim", true}};

// The reader of a noun of files, such as a workload or a planner, and the specimens that it is shown to learn what it
// asks for: those of scenarios/specimens/schemas.yaml under the noun's name, and a bare map for each name that it
// knows.
struct NounReader {
  std::string name;
  std::function<void(const Tree&)> read;  // throws Error where it refuses
  std::vector<Tree> specimens;
};

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

// Every noun whose struct does not say its keys itself; a noun that stands within others comes before them.
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
      {"plan", plan_reader(specimens), {}},
      {"scenario", read_any_scenario, {}}};
  for (NounReader& noun : nouns) {
    const std::vector<Tree>& more = specimens.find(noun.name)->items;
    noun.specimens.insert(noun.specimens.end(), more.begin(), more.end());
  }
  return nouns;
}

using CheckStop = std::function<void()>;

// Shows the specimens to the reader and gathers what it asked for: of a specimen that it refuses, until then.
void ask(const NounReader& noun, const CheckStop& check_stop, Shape& shape, Parts& parts) {
  for (Tree specimen : noun.specimens) {
    check_stop();
    record_what_is_asked(specimen);
    bool taken = true;
    try {
      noun.read(specimen);
    } catch (const Error&) {
      taken = false;
    }
    gather(specimen, taken, shape, parts);
  }
}

Parts described_parts() {
  Parts parts;
  parts["cluster"].shape = cluster_shape();
  parts["workload"].shape = workload_shape();
  parts[kSourcedPart].shape = sourced_value_shape();
  return parts;
}

// The root of files of a kind, and the parts that it leads to.
Shape ask_for(const std::string& kind, const CheckStop& check_stop, Parts& parts) {
  Shape root, nobody;  // the roots of nouns within others are parts
  for (const NounReader& noun : noun_readers()) {
    const bool is_part = kind == "scenario" && noun.name != "plan";
    if (noun.name == kind) {
      ask(noun, check_stop, root, parts);
    } else if (is_part) {
      ask(noun, check_stop, nobody, parts);
    }
  }
  return root;
}

const FileKind& kind_of(const std::string& name) {
  for (const FileKind& kind : kKinds)
    if (name == kind.name) return kind;
  throw std::logic_error("no kind of file: " + name);
}

}  // namespace

std::vector<std::string> schema_kinds() {
  std::vector<std::string> names;
  for (const FileKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

std::vector<std::string> described_kinds() {
  std::vector<std::string> names;
  for (const FileKind& kind : kKinds)
    if (kind.describes_itself) names.emplace_back(kind.name);
  return names;
}

std::string file_keys(const std::string& name) {
  return reference_tables(described_parts().at(name).shape, name);
}

std::string file_schema(const std::string& name, const CheckStop& check_stop) {
  const FileKind& kind = kind_of(name);
  Parts parts = described_parts();
  Shape root;
  if (kind.describes_itself) {
    root.part = name;
  } else {
    root = ask_for(name, check_stop, parts);
  }
  return json_schema(kind.title, root, parts);
}

}  // namespace shardsim
