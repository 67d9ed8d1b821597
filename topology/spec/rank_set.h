#pragma once

#include <string>
#include <vector>

#include "base/tree/tree.h"

namespace shardsim {

// Ranks as plan and program files write them: a list of counts, or a text "FIRST-LAST", "FIRST-LAST:STRIDE", "5".
// Order matters. Errors (Failure::input): a rank twice, or outside [0, world_size).
std::vector<int> read_rank_set(const Tree& tree, int world_size);

// The same notation over the nodes of a cluster.
std::vector<int> read_node_set(const Tree& tree, int nodes);

// The shortest text for these ranks, or "" when they are no arithmetic progression.
std::string rank_set_text(const std::vector<int>& ranks);

}  // namespace shardsim
