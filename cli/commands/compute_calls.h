#pragma once

#include "cli/arguments/command.h"
#include "cli/arguments/process.h"

namespace shardsim {

class Arguments;

// `shardsim compute compare` for a file of fused calls (is_call_file()).
int compare_calls(const Arguments& given, const Terminal& terminal);

Command compute_fit_command();

}  // namespace shardsim
