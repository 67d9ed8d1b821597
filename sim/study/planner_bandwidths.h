#pragma once

#include "models/workload/workload.h"
#include "plan/flexshard_equations.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// The FlexShard planner's four bandwidths as this cluster's model gives them: payload over time of one call alone.
// Payloads: the batch's rows for the all-to-alls; kReduceBytes for the all-reduces, whose payload the plan decides.
PlannerBandwidths simulated_bandwidths(const Workload& workload, const Cluster& cluster);

}  // namespace shardsim
