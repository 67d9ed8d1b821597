#pragma once

#include "base/error.h"
#include "plan/torchrec/search/planner_run.h"

namespace shardsim::torchrec {

// The Error (Failure::infeasible) of a run without a plan: what does not fit, how much is missing, the largest tables,
// and the smallest change that would fit.
Error infeasible(const RunResult& run, const RunSettings& settings);

}  // namespace shardsim::torchrec
