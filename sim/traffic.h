#pragma once

#include "sim/program.h"
#include "sim/timeline.h"

namespace shardsim {

// Fills bytes_out, bytes_in and, up to 256 ranks, the flow matrix of one iteration from the Program: what each rank
// sends and receives, own chunks left out. Ring kinds count as a ring in group order, whatever algorithm carries them.
void add_traffic(Timeline& timeline, const Program& program);

}  // namespace shardsim
