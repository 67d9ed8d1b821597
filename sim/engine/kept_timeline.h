#pragma once

#include "sim/engine/execution.h"
#include "sim/timeline/timeline.h"

namespace shardsim {

// The Timeline of one iteration of the Program, spans of the simulated nodes repeated for those they stand for.
Timeline timeline_of(const Execution::Kept& kept, const Program& program, const std::vector<OpWork>& works,
                     const NodeClasses& classes, const Cluster& cluster);

}  // namespace shardsim
