#pragma once

#include <string>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// TorchRec's serialised plan shape, with the extension for row tiers (docs/formats.md, plan files).
// `access_share` of every tier is written for readers; it is ignored on reading.
std::string plan_to_json(const Plan& plan, const Workload& workload, const Cluster& cluster);

// Errors: Failure::input with the line: unknown table or type, rows or ranks that do not fit. Call check_plan after.
Plan plan_from_tree(const Tree& tree, const Workload& workload, const Cluster& cluster);

// The same, checked: what check_plan says of a table has the line of its entry, too.
Plan checked_plan(const Tree& tree, const Workload& workload, const Cluster& cluster, bool nodes_known = true);
Plan read_plan_file(const std::string& path, const Workload& workload, const Cluster& cluster);

}  // namespace shardsim
