#pragma once

#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "sim/lower/fusion_group.h"
#include "sim/program/program.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// A Program without matrices and operations: sizes, tables, shards, groups, the stream `compute`. Errors:
// Failure::input for flex rows with different replica groups, or replica groups other than the nodes in which
// table_row_wise and grid_shard reduce.
Program program_frame(const Plan& plan, const Workload& workload, const Cluster& cluster);

// Every group, and its matrices: ids, gradients and rows; with `full` those of lengths and weights, too. Sets
// FusionGroup::uses.
void write_matrices(Program& program, std::vector<FusionGroup>& groups, bool full);

}  // namespace shardsim
