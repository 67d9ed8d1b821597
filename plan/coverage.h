#pragma once

#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"

namespace shardsim {

// What is wrong with the way `placements` (all of one table, each inside it and not empty) cover its rows and columns:
// the first rows or columns that two of them hold, or none does. Empty when each is held exactly once.
// Costs n log n for n placements.
std::string coverage_fault(const std::vector<const Placement*>& placements, const Table& table);

}  // namespace shardsim
