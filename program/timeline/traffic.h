#pragma once

#include "program/program.h"
#include "program/timeline/timeline.h"

namespace shardsim {

// [member] What a collective moves on each member of one group: the larger of bytes sent and received, own chunk
// included. `matrix`: of an all_to_all; `of_set`: bytes of the group's rank set, for the other kinds.
std::vector<std::int64_t> payloads(const Op& op, const ByteMatrix& matrix, std::int64_t of_set, int members);

// Fills bytes_out, bytes_in and, up to 256 ranks, the flow matrix of one iteration from the Program: what each rank
// sends and receives, own chunks left out. Ring kinds count as a ring in group order, whatever algorithm carries them.
void add_traffic(Timeline& timeline, const Program& program);

}  // namespace shardsim
