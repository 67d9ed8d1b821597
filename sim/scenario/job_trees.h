#pragma once

#include <vector>

#include "sim/scenario/case_trees.h"

namespace shardsim {

// Keys of one entry of `jobs`.
const std::vector<std::string>& job_keys();

// Refuses `jobs` beside what belongs to a single workload (`workload`, `planner`, `plan`, `published`, `relative_to`,
// `repeat`).
void refuse_jobs_beside(const Tree& keys);

// A case with `jobs` as one case per job, `prefix` in front of its name; any other case as itself.
// Errors: unknown keys of a job, a plan beside a planner, two jobs of one name.
std::vector<CaseTree> expand_jobs(const CaseTree& tree, const std::string& prefix);

}  // namespace shardsim
