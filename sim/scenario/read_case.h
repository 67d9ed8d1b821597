#pragma once

#include "sim/scenario/case_trees.h"
#include "sim/scenario/scenario.h"

namespace shardsim {

// Errors: Failure::input with place, for any key of the case and of its cluster and workload.
Case read_case(const CaseTree& tree);
// One that is as `before` but for its name and planner (CaseTree::again).
Case read_again(const CaseTree& tree, Case before);

// Refuses names of planner, models, network and algorithms that no table knows, and options that they do not have.
void validate_names(const Case& item);

// Refuses names that cannot be folders, a name twice, a name that is the leading parts of another.
void check_case_names(const std::vector<Case>& cases);

// Refuses jobs of one fabric that share a node.
void check_jobs(const std::vector<Case>& cases);

// Refuses `relative_to` that names no other case.
void check_baselines(const std::vector<Case>& cases);

}  // namespace shardsim
