#pragma once

#include <vector>

#include "sim/engine/engine.h"

namespace shardsim {

// The Timeline of the steady iteration alone, as steady_iteration() has it, for those who ask for times of operations
// and not for what sets them.
Timeline steady_timeline(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                         Network& network, const EngineOptions& options);

}  // namespace shardsim
