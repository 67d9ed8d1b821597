#pragma once

#include <optional>
#include <vector>

#include "program/timeline/timeline_figures.h"
#include "sim/engine/execution.h"

namespace shardsim {

// Returns what named_times_alone() does of that iteration's Timeline, to the bit, but with `alone_ms` as only figure:
// spans of nodes that are alike are counted, not repeated. Nothing where the order in which a Timeline has its spans
// decides about a sum, and only the Timeline tells it.
std::optional<std::vector<NamedTime>> alone_times(const Execution::Kept& kept, const Program& program,
                                                  const std::vector<OpWork>& works, const NodeClasses& classes,
                                                  const Cluster& cluster);

}  // namespace shardsim
