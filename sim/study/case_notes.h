#pragma once

#include <string>
#include <vector>

#include "sim/study/result.h"

namespace shardsim {

// What a reader of one case's numbers must know beside them, as sentences. `result` holds the simulation and the
// placements; `plan` is the plan behind them.
std::vector<std::string> case_notes(const CaseResult& result, const Case& item, const Plan& plan);

}  // namespace shardsim
