#pragma once

#include <vector>

#include "program/timeline/named_times.h"
#include "sim/engine/engine.h"

namespace shardsim {

// The Timeline of the steady iteration alone, as steady_iteration() has it, for those who ask for times of operations
// and not for what sets them.
Timeline steady_timeline(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                         Network& network, const EngineOptions& options);

// The same iteration for those who ask for no more than its length and its operations without contention.
struct SteadyTimes {
  Seconds time;
  // As named_times_alone() has them of that Timeline, to the bit, but with `alone_ms` as their only figure.
  std::vector<NamedTime> alone;
};
// No Timeline is made for it, as a rule: of a large world it takes more memory than the simulation, and nodes that are
// alike need only be counted.
SteadyTimes steady_times(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                         Network& network, const EngineOptions& options);

}  // namespace shardsim
