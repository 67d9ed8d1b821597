#pragma once

#include "cli/arguments/arguments.h"
#include "cli/arguments/command.h"
#include "plan/torchrec/bridge/choice.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// True where the case's own planner is TorchRec's.
bool plans_by_torchrec(const Case& item);

// The options of TorchRec's planner for a case: those of its own planner, else the defaults with the rules that the
// memory model states. Errors: Failure::input.
torchrec::PlannerOptions torchrec_options(const Case& item);

// Returns what that planner chooses for the case by its own estimates, whatever the objective. The options are those of
// torchrec_options(). Errors: those of choose_plan(); Interrupted.
torchrec::Choice torchrec_choice(const Case& item, torchrec::PlannerOptions options, std::uint64_t seed,
                                 const PlanWatch& watch);

// `shardsim plan --dry-run`: TorchRec's planner for the case on each of several machines with as many GPUs, and the
// simulation of each plan. A machine without a plan is a row that says why; 3 where none has one.
int dry_run(const Arguments& given, const Terminal& terminal);

}  // namespace shardsim
