#pragma once

#include "plan/sharding_groups.h"
#include "program/program.h"

namespace shardsim {

// Names of the groups of 2D parallelism in a Program: the sharding groups, in which vectors are exchanged, and the
// ranks that hold the same rows, which average them.
inline constexpr const char* kShardingGroup = "sharding";
inline constexpr const char* kReplicaGroup = "replica";

// True where an operation in this role works for all groups together.
bool of_whole_world(OpRole role);

// The Program of the whole world, of the one that was lowered for the positions of one sharding group: every group does
// the same side by side. Gradients of the dense part and of data-parallel tables are reduced over the world, and
// replicas over theirs; all other groups are those of one sharding group, once for each.
Program in_all_groups(Program of_group, const GroupedWorld& world, int ranks_per_node);

}  // namespace shardsim
