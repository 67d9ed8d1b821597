#pragma once

#include <cstdint>
#include <vector>

#include "models/collective/byte_matrix.h"
#include "sim/lower/group_member.h"

namespace shardsim {

// What an exchange carries for one placement from each source.
enum class Carried { ids, lengths, weights, forward, backward };

// Sizes of several placements in one matrix, source -> owner by position in a group of `group_size`: in units of the
// greatest common divisor of their unit sizes. `id_bytes`: of the workload.
ByteMatrix exchange_matrix(const std::vector<GroupMember>& members, int group_size, Carried what, int id_bytes);

// By node: vectors of all bags of a rank, to every node that holds the tables (docs/lowering.md, table_row_wise). What
// a source on any node sends back to the node of the owner; the output is the transpose.
ByteMatrix cross_matrix(const std::vector<GroupMember>& members, int nodes, int ranks_per_node, Carried what);

// Bytes per vector or id of that member.
std::int64_t unit_bytes(const GroupMember& member, Carried what, int id_bytes);

}  // namespace shardsim
