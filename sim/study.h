#pragma once

#include "plan/memory_model.h"
#include "sim/result.h"
#include "sim/workers.h"

namespace shardsim {

// The plan of one case: read or made, checked, within memory. Errors: those of planners, plan files and checks.
Plan make_plan(const Case& item, const Cluster& cluster, std::uint64_t seed);

// The Program of one case.
Program make_program(const Case& item, const Cluster& cluster, const Plan& plan, const Scenario& scenario,
                     bool observed_payload);

// Simulates every case, each in a worker process (SimGrid allows one engine per process). Same result for any number of
// jobs. All plans are made before the first simulation, so that bad input costs no waiting.
// Errors: those of planning and simulation; Failure::run naming the case when a worker dies.
StudyResult run_study(const Scenario& scenario, const WorkerOptions& options);

}  // namespace shardsim
