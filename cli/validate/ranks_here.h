#pragma once

#include <vector>

#include "cli/validate/request.h"
#include "program/program.h"
#include "validate/execute/meet/launch.h"

namespace shardsim {

// The ranks that this process runs, in their order: one of a launcher's, those of a node, or all; at least one. Where
// all are here, they share a secret that nobody else knows, and a port that was free a moment ago unless one is asked
// for. The process may open the descriptors that they need. Errors (Failure::input): the launcher started neither a
// process for each rank nor one for each node (names it); more ranks than one process runs (names the Program); those
// of launch_from, secret_of_file and allow_descriptors.
std::vector<Launch> ranks_here(const Program& program, const ValidateRequest& request);

}  // namespace shardsim
