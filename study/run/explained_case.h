#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/planning/prepared_case.h"
#include "study/why/help.h"
#include "study/why/why.h"

namespace shardsim {

// The answer of `shardsim why` for a case.
struct ExplainedCase {
  Why why;
  std::optional<Help> help;        // where it was asked for
  std::vector<std::string> notes;  // that `run` has on the peak of its memory
};

// One case of a scenario, simulated in this process; a job beside the others of its fabric. `with_help`: what would
// make it shorter, too, for which it is simulated some thirty times more. Errors: those of planning and simulation.
ExplainedCase explained_case(const Scenario& scenario, const Case& item, bool with_help, const PlanWatch& watch);

}  // namespace shardsim
