#pragma once

#include "sim/program/program.h"

namespace shardsim {

// What the kernels of a GPU do not take (kernels/cuda_embedding.h), told before a rank starts.
// Errors (Failure::input naming the lookup): rows of more than 12,288 columns, 2^31 or more lookups of one rank;
// pooled: more than 65,535 shards in one lookup, 2^32 or more bags of one rank.
void check_gpu_limits(const Program& program, const ProgramPlaces& places);

}  // namespace shardsim
