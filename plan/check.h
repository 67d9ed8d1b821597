#pragma once

#include <vector>

#include "models/workload/workload.h"
#include "plan/memory_model.h"
#include "plan/plan.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// Refuses rows or columns held twice or not at all, ranks outside the world, ranks named twice, replica groups of
// unequal length, unknown compute kernels, shards of table_row_wise, table_column_wise and
// grid_shard that leave their node (not with `nodes_known` false: where ranks lie is then not known), several nodes
// without NICs. Errors: Failure::input at `place`, or at the table's place where `tables`
// has one.
void check_plan(const Plan& plan, const Workload& workload, const Cluster& cluster, const Place& place,
                bool nodes_known = true, const std::vector<Place>& tables = {});

// Refuses a plan over the memory of a rank, or with more rows in host memory than a node has (where the cluster says
// how much that is): Failure::infeasible naming the rank or node, the bytes over and the largest tables there.
void check_memory(const Plan& plan, const Workload& workload, const Cluster& cluster, const MemoryModel& model);

}  // namespace shardsim
