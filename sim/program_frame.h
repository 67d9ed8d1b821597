#pragma once

#include <vector>

#include "models/workload.h"
#include "plan/plan.h"
#include "sim/fusion_group.h"
#include "sim/program.h"
#include "topology/cluster.h"

namespace shardsim {

// A Program before its operations: tables, shards, groups of ranks, byte matrices, and the compute stream.
// Errors (Failure::input): flex rows of several tables with different replica groups.
Program program_frame(const Plan& plan, const Workload& workload, const Cluster& cluster,
                      const std::vector<FusionGroup>& groups);

}  // namespace shardsim
