#pragma once

#include <string>
#include <vector>

#include "models/workload/workload.h"

namespace shardsim {

// The micro-benchmark on as many processes of this machine as there are ranks, all at once, as the ranks of an emulated
// cluster share its processors: gather and update of the workloads' row widths and optimizers at a few sizes, a copy,
// matrix products. Sizes do not come from any plan. Returns the table that the compute model `measured` reads; times
// are medians over repetitions and ranks. Errors: Failure::run when a process fails.
std::string bench_on_ranks(int ranks, const std::vector<const Workload*>& workloads);

}  // namespace shardsim
