#pragma once

#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "sim/memory/memory_part.h"

namespace shardsim {

// What stays in each rank's device memory between operations, by rank (docs/lowering.md, "What device memory holds"):
// rows and their optimizer states (fp32, beside the rows; none of a table in host memory), caches of kCacheLoadFactor
// of the rows with (4 + 16 kCacheLoadFactor) bytes of bookkeeping per row, dense parameters with their state.
std::vector<MemoryAmounts> resident_memory(const Plan& plan, const Workload& workload, int world_size);

}  // namespace shardsim
