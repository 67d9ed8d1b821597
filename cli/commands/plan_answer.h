#pragma once

#include <string>
#include <vector>

#include "cli/arguments/command.h"
#include "study/planning/prepared_case.h"

namespace shardsim {

// Says what somebody wants to know of a plan just made, in a few lines: whose it is, how it cuts the tables, how
// long an iteration takes by it (it is simulated), the memory of the fullest GPU, whether TorchRec runs it, and what to
// ask next. `same`: the options that made the scenario another one, as words. Errors: Interrupted.
std::string plan_answer(const PreparedCase& prepared, const Terminal& terminal, const std::vector<std::string>& same);

}  // namespace shardsim
