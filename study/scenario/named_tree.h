#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/tree/tree.h"

namespace shardsim {

// A cluster or workload as a scenario states it, made whole: a text is loaded as a shipped name or a path, a map gets
// its `base` chain merged below it, and the tables that `tables_from` takes. `kind` is "clusters" or "workloads";
// `from` is the folder that relative paths start at. Errors: Failure::input for what cannot be read, a circle of bases,
// or more than 8 of them.
Tree whole_tree(const Tree& stated, const std::string& kind, const std::string& from);

// Files that were read already, by the path that was asked for: hundreds of cases may name one and the same, or take
// tables of a large one.
struct LoadedTrees {
  std::map<std::string, Tree> files;      // as they are written
  std::map<std::string, Tree> workloads;  // of which others took tables, made whole
};

// The folder in which the files that a tree names are looked for.
struct TreeOrigin {
  const std::string& folder;
  LoadedTrees& loaded;
};

Tree whole_tree(const Tree& stated, const std::string& kind, const std::string& from, LoadedTrees& loaded);

// Changes one value of a cluster or workload that was made whole. Errors (Failure::input): as set_path(); a `base`,
// which was followed already and would now change nothing; `instead` says what to do there.
void set_in_named(Tree& tree, const std::string& path, const Tree& value, const std::string& instead);

// NICs whose rate alone a later layer changes stay the same hardware, and fits go on choosing their constants by the
// rate that the layer below states: it is kept as `nics.hardware_rate`. nic_rate() is that of a cluster before the
// change; is_nic_rate() tells the paths within a cluster that change it.
bool is_nic_rate(std::string_view path);
std::optional<Tree> nic_rate(const Tree& cluster);
void keep_nic_hardware(const std::optional<Tree>& before, Tree& cluster);

// `file` as the current folder sees it.
std::string path_from(const std::string& folder, const std::string& file);

// The reverse: a file as one in `folder` names it. A shipped name stays as it is.
std::string named_from(const std::string& name, const std::string& folder);

// Most values of all cases together, each with its cluster and workloads: a short file may repeat a long one.
constexpr std::size_t kMostValues = 10'000'000;

std::size_t size_of(const Tree& tree);  // values in it, itself included

// True when this key holds a shipped name or a file that is loaded: `cluster`, `workload`.
bool is_named(std::string_view key);

// True when this option of a planner names a file: a plan, one to start from, a policy, costs.
bool names_planner_file(std::string_view key);

// The value of a key of a scenario, a case or a job with file names as the current folder sees them; clusters and
// workloads loaded, those of `jobs` too. Errors: as whole_tree; `jobs` that is empty, no list of maps, or too long.
Tree located(const std::string& key, Tree value, const std::string& folder, LoadedTrees& loaded);

// The value of a leaf at `path` within a case or a job, located where the path names a file.
Tree located_leaf(std::string_view path, Tree value, const std::string& folder);

// The value of the key `drift`, with the files that its planners and its monitor name located where `file` states them;
// those of other places, as of --set, stay relative to where the command runs.
Tree located_drift(Tree drift, const std::string& file);

}  // namespace shardsim
