#pragma once

#include <string>
#include <vector>

#include "program/program.h"
#include "sim/engine/engine.h"

namespace shardsim {

// The time that the operations of one name add to an iteration.
struct PathTime {
  std::string operation;
  std::string op_class;  // as Timeline::OpInfo has it
  double ms = 0;
  double beneath_ms = 0;  // of it: beneath its host, which sets the time meanwhile
  bool operator==(const PathTime&) const = default;
};

// Returns the time of the operations of each name on the critical path, in the order of the Program. For an operation
// of a host, it is only the time in which its GPU has nothing to do: what the GPU does meanwhile would take as long if
// the host were faster, so that time is its. The parts of the path that are no operation are left out.
std::vector<PathTime> path_times(const Program& program, const CriticalPath& path);

// The share, 0 to 1, of an iteration of `iteration_ms` that `path` spends in operations whose work follows where the
// hot rows of cut tables lie: exchanges of ids and vectors, lookups and updates.
double share_moved_by_rows(const Program& program, const std::vector<PathTime>& path, double iteration_ms);

}  // namespace shardsim
