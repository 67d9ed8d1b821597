#pragma once

#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "study/scenario/drift_options.h"

namespace shardsim {

// The case as it is on a day, except for rotation, which changes no distribution but only which rows are popular.
// Errors (Failure::input): a law that lists its rows cannot grow, a table without an exponent has none to change;
// growth beyond what any workload may have, at the key of `drift` and with the day.
Workload workload_on(const Workload& workload, const DriftOptions& options, int day);

// The plan of day 0 on tables that have grown: new rows, the least popular ones, join those that were last.
Plan kept_plan(const Plan& plan, const Workload& before, const Workload& after);

// Errors: those of workload_on() for the first day that has some.
void refuse_days_beyond_limits(const Workload& workload, const DriftOptions& options);

// Sets the accesses of each tier: a share `stays` of a day's accesses goes where it went on day 0, and the others to
// any row.
void rotate(Table& table, const std::vector<Placement>& tiers, double stays);

}  // namespace shardsim
