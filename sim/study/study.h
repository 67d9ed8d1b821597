#pragma once

#include <functional>

#include "plan/memory_model.h"
#include "sim/study/result.h"
#include "sim/study/workers.h"

namespace shardsim {

// The cluster that the case runs on: of a job, its part of the fabric.
Cluster cluster_of(const Case& item);

// `error` as it is when it has a place; else with the place of the case, of its plan file for bad input, and the name
// of the case.
Error in_case(const Case& item, const Error& error);

// Who looks on while a plan is made; both may be empty.
struct PlanWatch {
  std::function<bool()> interrupted;             // asked now and then
  std::function<void(const std::string&)> note;  // takes what the planner says about its choice
};

// The plan of one case as its file or its planner gives it. Errors: those of planners and plan files; Interrupted.
Plan unchecked_plan(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch);

// The same, checked, within memory. Errors: those of planners, plan files and checks;
// Interrupted.
Plan make_plan(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch);

// The Program of one case.
Program make_program(const Case& item, const Cluster& cluster, const Plan& plan, const Scenario& scenario,
                     bool observed_payload);

// Refuses jobs whose starts or lengths are too far apart to be simulated side by side (sim/study/job_study.h), and what
// making their plans refuses.
void check_job_groups(const Scenario& scenario, const PlanWatch& watch);

// Simulates every case, each in a worker process (SimGrid allows one engine per process); jobs of one fabric in one,
// and each of them alone. Same result for any number of processes. All plans are made before the first simulation, so
// that bad input costs no waiting. Errors: those of planning and simulation; Failure::run naming the case when a worker
// dies.
StudyResult run_study(const Scenario& scenario, const WorkerOptions& options);

}  // namespace shardsim
