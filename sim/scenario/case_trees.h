#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace shardsim {

// One case with every key at its final value, lowest to highest: bases and named files, keys beside `base`, top level,
// the case's keys (each replaces the whole value), the case's `set`, then the command line.
struct CaseTree {
  std::string name;
  Place place;
  Tree keys;                // of the top level and of a case; `cluster` and `workload` are whole maps
  std::optional<Tree> job;  // one of several on a fabric: its entry of `jobs`
  bool changed = false;     // cluster or workload, on the command line
  bool again = false;       // as the one before but for its name and its planner, the only key that it has then
};

struct CaseTrees {
  std::vector<CaseTree> cases;
  std::vector<Fabric> fabrics;  // of those with a `job`
};

// `folder` is that of the scenario file, `seed` the scenario's. Errors: Failure::input for unknown keys, a path of
// `set` or --set that leads nowhere, `planner` beside `plan`, `jobs` beside a workload, cases that blow the file up
// beyond what memory should hold.
CaseTrees case_trees(const Tree& scenario, const std::string& folder, const Overrides& overrides, std::uint64_t seed);

// The parts of it.

// Keys of one entry of `jobs`.
const std::vector<std::string>& job_keys();

// Refuses `jobs` beside what belongs to a single workload (`workload`, `planner`, `plan`, `published`, `relative_to`,
// `repeat`).
void refuse_jobs_beside(const Tree& keys);

// A case with `jobs` as one case per job, `prefix` in front of its name; any other case as itself.
// Errors: unknown keys of a job, a plan beside a planner, two jobs of one name.
std::vector<CaseTree> expand_jobs(const CaseTree& tree, const std::string& prefix);

// A case with `repeat: N` as N cases NAME/1 to NAME/N that differ in `planner.seed` alone, which counts up from the
// planner's own seed, else from `seed`; any other case as itself. All but the first are told as CaseTree::again.
// Errors: beside `plan`; a planner that draws nothing; more than 1,000.
std::vector<CaseTree> expand_repeats(CaseTree tree, std::uint64_t seed);

}  // namespace shardsim
