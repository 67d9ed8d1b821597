#pragma once

#include <vector>

#include "cli/file_kinds.h"
#include "cli/validate/request.h"
#include "validate/execute/meet/launch.h"

namespace shardsim {

// Runs the ranks of this process, each in a thread: they join the others, measure or check their data, and rank 0
// writes and prints the result. The exit code: 0, or after a signal 128 + N, once it is said what became of the
// measurement. Where a rank hangs, or fails before all have met, the process ends here, with its error. Errors: of the
// lowest rank that failed.
int run_crew(const std::vector<Launch>& ranks, const ValidateSource& source, const ValidateRequest& request);

}  // namespace shardsim
