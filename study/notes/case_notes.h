#pragma once

#include <string>
#include <vector>

#include "study/planning/prepared_case.h"
#include "study/result/result.h"

namespace shardsim {

// What a reader of one case's numbers must know beside them, as sentences. `result` holds the simulation and the
// placements of `prepared`.
std::vector<std::string> case_notes(const CaseResult& result, const PreparedCase& prepared);

// Of these, what the cluster and the compute model say by themselves, whatever is simulated.
std::vector<std::string> setting_notes(const Case& item);

// Of these, the operations that a fitted constant of the cluster does not hold for.
std::vector<std::string> fit_notes(const CaseResult& result, const PreparedCase& prepared);

// Of these, what the case's planner or plan file states to no effect on the simulation.
std::vector<std::string> idle_notes(const Case& item, const Plan& plan);

}  // namespace shardsim
