#pragma once

#include <vector>

#include "sim/engine/jobs/job_engine.h"
#include "sim/study/prepared_case.h"

namespace shardsim {

// The jobs of one fabric, in the scenario's order.
using JobGroup = std::vector<const PreparedCase*>;

// One group per case with jobs; other cases are in none.
std::vector<JobGroup> job_groups(const std::vector<PreparedCase>& prepared);

// Simulates the jobs side by side; a group of one is a job that has the fabric for itself.
std::vector<JobSimulation> simulate_group(const JobGroup& group, const Scenario& scenario);

// Refuses starts and lengths so far apart that a job would run more than kMostJobIterations before all are measured, by
// the closed form. Errors: Failure::input at the start or the job.
void check_lengths(const JobGroup& group, const Scenario& scenario);

}  // namespace shardsim
