#pragma once

#include "base/tree.h"

namespace shardsim {

// TorchRec's rules of memory (`variant`, `rules`, `run_embedding_at_peak_memory`) are options of its planner and of its
// memory model. What one of the two says holds for both, so that a plan is judged as it was made. Does nothing where
// either is another one, or null. Errors (Failure::input): both say it, and not the same.
void share_torchrec_rules(Tree& planner, Tree& memory_model);

}  // namespace shardsim
