#pragma once

#include <vector>

#include "program/program.h"

namespace shardsim {

// The Program with the sizes that ids of batch `batch` have as they are drawn from the access law (id_streams.h),
// instead of those that the law expects: how many each rank asks of each owner, the rows that go back, their gradients,
// lookups and updates. So no drawn id is left out or repeated. Sequences alone: pooled lookups, and rows that each rank
// has itself, stay as they are.
Program with_drawn_sizes(const Program& program, int batch);

// Returns the Programs for the batches 0, 1, 2 ..., as many as there are iterations.
std::vector<Program> with_drawn_sizes_of(const Program& program, int iterations);

}  // namespace shardsim
