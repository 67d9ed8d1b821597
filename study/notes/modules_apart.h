#pragma once

#include <optional>

#include "study/planning/prepared_case.h"

namespace shardsim {

// Sequences of several dimensions that are simulated as one module, which TorchRec has one of each dimension for.
struct ModulesApart {
  std::size_t calls = 0;   // of collectives more
  double shortest_ms = 0;  // of each
};

// What TorchRec's modules would add to a case; nothing where its sequences exchange as TorchRec's do, or on one GPU.
std::optional<ModulesApart> modules_apart(const PreparedCase& prepared);

// Returns the iteration with `modules: {exchanges: each}` and its plan kept, ms; nothing where what they add is no
// telling part of `iteration_ms`, for jobs and drawn batches, and for worlds so large that a second simulation is felt.
std::optional<double> ms_with_modules_apart(const PreparedCase& prepared, double iteration_ms);

}  // namespace shardsim
