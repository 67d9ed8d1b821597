#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree/tree.h"
#include "models/load/load_options.h"
#include "models/software/software.h"
#include "models/workload/workload.h"
#include "plan/constraints.h"
#include "plan/torchrec/bridge/planner_options.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

inline constexpr std::string_view kRunPrefix = "run:";              // of a quantity: a number of batches follows
inline constexpr std::string_view kOperationPrefix = "operation:";  // of a quantity: the name of an operation follows

// The role of a published number: constants or distributions may have been chosen by it, so that a small error proves
// little.
enum class PublishedRole { predicted, partly_fitted, fitted };
std::vector<std::string> words_of(PublishedRole);

// A number somebody published for a case.
struct Published {
  std::string quantity;  // "iteration", a collective's name, "operation:NAME", "rows:STRATEGY", "throughput_gain",
                         // "memory_saved" ...
  double value = 0;      // in `unit`
  std::string unit;      // "ms", "rows", "%", "GiB"
  PublishedRole role = PublishedRole::predicted;
  // For a partly fitted one, the parts of the iteration whose constants were chosen with this number in view: "host"
  // (the time in which the GPU waits for the host), "kernels:attention" ...
  std::vector<std::string> fitted_in;
  bool seen_before = false;  // whether the number was known when the model that predicts it was made
  std::string source;
  bool at_observed_payload = false;
  bool derived = false;
  std::string note;
  // True when it says how good predictions are.
  bool judged() const { return role == PublishedRole::predicted; }
  bool operator==(const Published&) const = default;
};

// Further properties of a case that is one of several jobs on a fabric.
struct JobPart {
  std::vector<int> nodes;  // of the cluster; rank 0 is GPU 0 of the first
  Seconds start;
  Place nodes_place, start_place;
};

// Further properties of a case whose planner is one of several that are compared (`planners`).
struct ComparedPlanner {
  std::string group;  // the case that lists the planners; case names are GROUP/LABEL
  std::string label;  // the planner's name, or what its entry says instead
  std::vector<std::string>
      also;              // the cases of the file that this one stands for, because they differ only in their plans
  bool unasked = false;  // it comes from `all`: if it refuses the case, this is reported and the others continue
};

// One case of a scenario, with everything that is needed to simulate it.
struct Case {
  std::string name;
  Place place;
  Place name_place;  // of the argument that names it; without a source where the file does
  ClusterSpec cluster;
  Workload workload;
  Tree planner;                               // a map with `name`; null when the plan comes from a file
  std::string plan_file;                      // "" when a planner makes it
  Constraints constraints;                    // that any plan has to keep
  Tree compute_model, memory_model, network;  // maps with `name`
  std::optional<Software> software;           // none: no host is simulated
  std::map<std::string, std::string> algorithms;
  bool overlap = true;
  int iterations = 4;
  int most_iterations = 32;  // while it is not steady
  double steady = 1e-6;
  bool payload_both = true;
  LoadOptions load;
  std::string relative_to;
  std::vector<Published> published;
  bool changed = false;  // cluster or workload, on the command line
  std::optional<JobPart> job;
  std::optional<ComparedPlanner> compared;
};

// Samples of one iteration on all ranks of the case.
std::int64_t batch_of_all(const Case& item);

// Jobs that run side by side on one cluster: each of them is a case.
struct Fabric {
  std::string name;               // of the case that lists the jobs
  std::vector<std::size_t> jobs;  // indices of Scenario::cases, in file order; at least one
};

// The key `cross_check` of a scenario: compare TorchRec's estimates with the simulation.
struct CrossCheckOptions {
  Place place;
  std::size_t worst = 5;  // plans to explain
  torchrec::PlannerVersion version = torchrec::kNewestVersion;
  torchrec::TopologyOptions topology;  // rates of the same cluster by default
};

constexpr std::size_t kLeastChecked = 3;  // cases that make an order worth comparing

// One YAML file that names a cluster, a model, a plan (or a planner), and options. A pure value.
struct Scenario {
  std::string path;  // as given
  std::string title;
  std::string text;  // the file's whole text
  std::uint64_t seed = 1;
  std::vector<Case> cases;  // in file order
  std::vector<Fabric> fabrics;
  std::optional<CrossCheckOptions> cross_check;
  std::vector<std::string> merged_traces = {};  // cases of which the command line asks for one

  // Removes the cases for which `wanted` returns false; it is called in the order of the cases. A fabric keeps its
  // other jobs.
  void keep(const std::function<bool(const Case&)>& wanted);
};

// The changes that the command line makes.
struct Overrides {
  std::vector<std::pair<std::string, std::string>> set;  // --set PATH=VALUE
  std::optional<std::uint64_t> seed;
  std::string memory_model;             // "" = as the scenario says
  std::vector<std::string> only_cases;  // patterns of names: the changes apply to the cases that one of them fits, or
                                        // to all if there is none
  std::vector<std::string> planners = {};  // --planners, instead of the cases' own plans; empty: these
  bool torchrec_only = false;  // no table is placed as TorchRec cannot place it, whatever else its constraints say
};

// Reads and resolves a scenario: bases, shipped names, cases, `set`. Each case is complete and its planner, models,
// network and algorithms exist. Errors: Failure::input with place.
Scenario read_scenario(const std::string& path, const Overrides& overrides);
Scenario scenario_from_text(const std::string& text, const std::string& path, const Overrides& overrides);

// The same of a text that is parsed already.
Scenario scenario_from_tree(const Tree& tree, const std::string& text, const std::string& path,
                            const Overrides& overrides);

// Reads a cluster or workload by shipped name or path (`kind` "clusters" or "workloads"), bases merged; `from` is the
// folder of the naming file. File names inside the result are resolved: read_workload takes it with the folder "".
Tree load_named(const std::string& name, const std::string& kind, const std::string& from, const Place& place);

// Shipped names of one kind, sorted.
std::vector<std::string> shipped(const std::string& kind);

}  // namespace shardsim
