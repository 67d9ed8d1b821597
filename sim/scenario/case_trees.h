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
  std::optional<Tree> job;  // one of several on a fabric: its entry of `jobs` ...
  std::string fabric;       // ... and the case that lists them
  bool changed = false;     // cluster or workload, on the command line
  bool again = false;       // as the one before but for its name and its planner, the only key that it has then
};

// `folder` is that of the scenario file, `seed` the scenario's. Errors: Failure::input for unknown keys, a path of
// `set` or --set that leads nowhere, `planner` beside `plan`, `jobs` beside a workload, cases that blow the file up
// beyond what memory should hold.
std::vector<CaseTree> case_trees(const Tree& scenario, const std::string& folder, const Overrides& overrides,
                                 std::uint64_t seed);

}  // namespace shardsim
