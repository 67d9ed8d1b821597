#pragma once

#include "cli/arguments/arguments.h"
#include "cli/arguments/command.h"

namespace shardsim {

// `shardsim plan --dry-run`: TorchRec's planner for the case on each of several machines with as many GPUs, and the
// simulation of each plan. A machine without a plan is a row that says why; 3 where none has one.
int dry_run(const Arguments& given, const Terminal& terminal);

}  // namespace shardsim
