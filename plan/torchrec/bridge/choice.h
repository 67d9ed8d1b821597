#pragma once

#include "base/error.h"
#include "plan/planner.h"
#include "plan/torchrec/bridge/planner_request.h"
#include "plan/torchrec/search/planner_run.h"

namespace shardsim::torchrec {

struct Choice {
  PlannerRequest request;
  RunResult run;  // its plan, assignment and rating are the chosen ones
  Plan plan;
};

// Runs the planner. With objective simulated the candidates of best estimates are simulated (PlannerHost::simulated)
// and the fastest is chosen; the host is told where the two disagree. The figure cost_ms is the rating of the chosen
// plan. context.constraints are merged into the planner's own constraints. Errors: Failure::infeasible without a plan;
// Failure::input for what the constraints do not allow, or without a simulator.
Choice choose_plan(const PlannerOptions& options, const Workload& workload, const Cluster& cluster,
                   const PlannerContext& context);

// The storage that reservations leave for the tables of a request. Errors: Failure::infeasible when nothing is left.
Reservation reservation_of(const PlannerRequest& request);

// The error of a planner in the project's words.
Error as_input_error(const PlannerError& error);

// The Error (Failure::infeasible) of a run without a plan: what does not fit, how much is missing, the largest tables,
// and the smallest change that would fit.
Error infeasible(const RunResult& run, const RunSettings& settings);

}  // namespace shardsim::torchrec
