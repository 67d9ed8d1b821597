#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace shardsim {

// `shardsim collective compare`: arguments after the word compare. Returns 0, or 4 when the judged figure is outside
// --tolerance.
int collective_compare(const std::vector<std::string>& arguments, const Terminal& terminal);

}  // namespace shardsim
