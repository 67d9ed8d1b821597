#pragma once

#include <string>
#include <vector>

#include "program/program.h"
#include "sim/engine/path.h"

namespace shardsim {

// What the operations of one name add to an iteration.
struct PathTime {
  std::string operation;
  std::string op_class;  // as Timeline::OpInfo has it
  double ms = 0;
  bool operator==(const PathTime&) const = default;
};

// What of the critical path operations of each name take, in the order of the Program. Of a host only the time in which
// its GPU has nothing to do: what the GPU does meanwhile would take as long if the host were faster, so that time is
// its. What of the path is no operation is left out.
std::vector<PathTime> path_times(const Program& program, const CriticalPath& path);

}  // namespace shardsim
