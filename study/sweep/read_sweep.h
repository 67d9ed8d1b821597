#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/sweep/sweep.h"

namespace shardsim {

// The case of a sweep, and the number of points that are allowed.
struct SweepRequest {
  std::string only_case{};  // a name; "": as the file says, else its only one
  std::uint64_t most_points = kMostSweepPoints;
  bool keep_hopeless_axes = false;  // wrong_values() tells of them, too
};

// Reads the scenario and its sweep; that every axis names something that the case has is seen by reading a few points.
// Errors (Failure::input with place): those of read_scenario(); no `sweep`; no or several cases to vary; jobs; axes
// without values, of paths that lead nowhere, or twice; too many points (with their number); none that is left.
Sweep read_sweep(const std::string& path, const Overrides& overrides, const SweepRequest& request);
Sweep sweep_from_text(const std::string& text, const std::string& path, const Overrides& overrides,
                      const SweepRequest& request);

// The same of a text that is parsed already.
Sweep sweep_from_tree(const Tree& tree, const std::string& text, const std::string& path, const Overrides& overrides,
                      const SweepRequest& request);
// True when a scenario that has been read has a sweep; `scenario_text` is that of the file.
bool has_sweep(const std::string& scenario_text, const std::string& path);

// Returns in sentences what the case states beside the base of its cluster or its workload, and an axis over these
// drops as it replaces them as a whole.
std::vector<std::string> dropped_by_axes(const Sweep& sweep);

}  // namespace shardsim
