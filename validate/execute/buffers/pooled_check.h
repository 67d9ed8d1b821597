#pragma once

#include "sim/program/program.h"
#include "validate/execute/fusion/fusion.h"

namespace shardsim {

// The part of check_fusion that pooled lookups need: their exchanges move every bag's vector to the rank that has the
// bag, once.
// Errors (Failure::input naming the operation): tables of several types, rows cut and not cut in one exchange, pieces
// of a shard whose sums nothing adds up, ranks that get no vectors, sizes other than those of the vectors, `bags` that
// are not those of the batch, tables without bags.
void check_pooled(const Program& program, const ProgramPlaces& places, const Fusion& fusion);

}  // namespace shardsim
