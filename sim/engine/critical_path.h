#pragma once

#include <vector>

#include "sim/engine/execution.h"

namespace shardsim {

// One run of an Execution to look back on: its iterations, the last of which is the one that is asked about.
struct PastRun {
  const Program& program;
  const IterationWorks& works;
  const NodeClasses& classes;
  const Cluster& cluster;
  std::vector<const Execution::Kept*> iterations{};  // oldest first, without a gap; at least one
  bool steady = false;                               // the last one is like those before and after it
};

// Returns the operations that set the length of that iteration, and how much longer everything else could take. Found
// by walking back from an operation to whichever of those that it waited for ended last: the one before it on its
// stream, its dependencies, in a collective the member that arrived last.
//
// The walk begins at the operation that ends the iteration, which may be one for which nothing waits (the last update
// of a step, whose rows the next step needs late). In a steady run, the path before that repeats itself in every
// iteration, and one period of it determines the length of the iteration, so that period is returned. If the walk finds
// no period, or the run is not steady, the path from the end of the iteration back to the end of the previous one is
// returned.
CriticalPath critical_path(const PastRun& run);

// The same without what takes longest to find: no step names what it is `beside`, and there is no slack.
CriticalPath bare_critical_path(const PastRun& run);

}  // namespace shardsim
