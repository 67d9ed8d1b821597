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

// What sets the length of that iteration, and how much longer everything else could take. Found by walking back from an
// operation to whichever of those that it waited for ended last: the one before it on its stream, its dependencies, in
// a collective the member that arrived last.
//
// The walk begins where the iteration ends, which may be in work that nobody waits for (the last update of a step that
// the next one needs late). In a steady run the path behind that repeats itself iteration by iteration, and one turn of
// it is what bounds the iteration; so that turn is given. Where the walk finds none, or the run is not steady, it is
// the way from the end of the iteration back to the end of the one before it, cut there.
CriticalPath critical_path(const PastRun& run);

}  // namespace shardsim
