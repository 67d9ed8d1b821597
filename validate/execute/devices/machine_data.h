#pragma once

#include <string>
#include <vector>

#include "sim/program/program.h"
#include "validate/execute/buffers/data_check.h"
#include "validate/execute/buffers/pooled_buffers.h"
#include "validate/execute/buffers/rank_buffers.h"
#include "validate/execute/devices/machine.h"

namespace shardsim {

// The fusions of one rank, with what they ask for.
struct RankFusions {
  RankFusions(const Program& program, int rank)
      : sequences(rank_buffers(program, {}, rank)), pooled(rank_pooled(program, {}, rank)) {}
  std::vector<FusionBuffers> sequences;
  std::vector<PooledBuffers> pooled;
};

// Replaces a machine's tables and gradients by whole numbers that every rank can work out: those that `reference`
// starts with.
void load_data(Machine& machine, const Program& program, const Reference& reference, const RankFusions& fusions,
               int rank);

// "" when the rows and vectors that the machine gathered last, and its updated rows, are those of `reference`; else
// where they differ first.
std::string compare_data(Machine& machine, const Program& program, const Reference& reference,
                         const RankFusions& fusions, int rank);

}  // namespace shardsim
