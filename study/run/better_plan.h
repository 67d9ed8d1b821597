#pragma once

#include <string>

#include "study/planning/prepared_case.h"
#include "study/run/result.h"

namespace shardsim {

// Says, of a case that a FlexShard planner planned, that another plan of the same planner is faster by the case's own
// simulation. The planner weighs tiers by its estimate of the exchanges, so that with half the batch or on faster links
// it may choose a slower plan. "" where none is faster, and for worlds and models so large that making more plans is
// felt.
std::string better_plan_note(const CaseResult& result, const PreparedCase& prepared);

}  // namespace shardsim
