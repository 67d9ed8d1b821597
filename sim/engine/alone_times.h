#pragma once

#include <vector>

#include "program/timeline/named_times.h"
#include "sim/engine/execution.h"

namespace shardsim {

// Returns what named_times_alone() does of that iteration's Timeline, to the bit, but with `alone_ms` as only figure:
// spans of nodes that are alike are counted, not repeated. Only where unlike spans of one name start together are they
// repeated, for the order in which a Timeline has them decides about their sum.
std::vector<NamedTime> alone_times(const Execution::Kept& kept, const Program& program,
                                   const std::vector<OpWork>& works, const NodeClasses& classes,
                                   const Cluster& cluster);

}  // namespace shardsim
