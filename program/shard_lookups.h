#pragma once

#include <vector>

#include "program/program.h"

namespace shardsim {

// Rows of one rank's batch in the shard, expected, as lowering counts them.
double items_of(const Program& program, const Program::Shard& shard);

// Ranks whose ids one set of holders serves together.
std::size_t sources_of(const Program& program, const Program::Shard& shard);

// Lookups of an iteration of one set of holders together.
double lookups_of_set(const Program& program, const Program::Shard& shard);

// [position] of each holder of one set of holders.
std::vector<double> lookups_of(const Program& program, const Program::Shard& shard);

}  // namespace shardsim
