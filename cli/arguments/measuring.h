#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments/arguments.h"

namespace shardsim {

// Checks of arguments that both programs that measure share: shardsim-validate and shardsim-microbench.

// Refuses those of these options that are given with an empty value: a variable of a script that was not set would
// count as an option that was left out. Errors: Failure::input at the option.
void refuse_empty(const Arguments& given, const std::vector<std::string>& names);

// The threads that --threads may ask for: 4 for each processor of this machine, and 64 on a small one. More only wait
// for each other.
std::int64_t most_threads();

}  // namespace shardsim
