#pragma once

#include <string>

#include "plan/planner.h"

namespace shardsim {

// Tables of a workload that are not sharded (Table::sharded): DDP replicates them, so no planner places them and no
// plan file has them. In a Plan they are data_parallel on all ranks.

bool has_unsharded(const Workload& workload);

// Adds their placements to a plan of all other tables, in the order of tables.
void add_unsharded(Plan& plan, const Workload& workload, int world_size);

// The plan of that planner, `name`, for all other tables, in the memory that these leave, with theirs. Without any it
// is the planner's own plan. Errors: those of plan_in_parts().
Plan plan_with_unsharded(const Planner& planner, const std::string& name, const Workload& workload,
                         const Cluster& cluster, const PlannerContext& context);

}  // namespace shardsim
