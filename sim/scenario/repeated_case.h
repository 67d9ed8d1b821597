#pragma once

#include <vector>

#include "sim/scenario/case_trees.h"

namespace shardsim {

// A case with `repeat: N` as N cases NAME/1 to NAME/N that differ in `planner.seed` alone, which counts up from the
// planner's own seed, else from `seed`; any other case as itself. All but the first are told as CaseTree::again.
// Errors: beside `plan`; a planner that draws nothing; more than 1,000.
std::vector<CaseTree> expand_repeats(CaseTree tree, std::uint64_t seed);

}  // namespace shardsim
