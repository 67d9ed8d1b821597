#pragma once

#include <vector>

#include "sim/case_trees.h"

namespace shardsim {

// A case with `repeat: N` as N cases NAME/1 to NAME/N that differ in `planner.seed` alone, which counts up from the
// planner's own seed, else from `seed`; any other case as itself, without the key.
// Errors: beside `plan`; a planner that draws nothing; more than `most`.
std::vector<CaseTree> expand_repeats(CaseTree tree, std::uint64_t seed, std::size_t most);

}  // namespace shardsim
