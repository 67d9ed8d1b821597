#pragma once

#include <string>
#include <vector>

#include "sim/engine/jobs/job_engine.h"
#include "sim/study/case_result.h"

namespace shardsim {

// The jobs of one fabric, made ready.
struct JobGroup {
  std::string fabric;
  std::vector<const PreparedCase*> jobs;
};

// Refuses starts and lengths so far apart that a job would run more than kMostJobIterations before all are measured, by
// the closed form. Errors: Failure::input at the start or the job.
void check_lengths(const JobGroup& group);

// An iteration of one job that has the fabric for itself, in milliseconds.
double iteration_alone_ms(const PreparedCase& job);

// What the worker of a fabric does: simulates the jobs side by side, and says of each what simulated_case says of a
// case, but for the time that it takes alone. `pareto`: by job.
std::vector<CaseResult> simulated_jobs(const JobGroup& group, const std::vector<bool>& pareto);

}  // namespace shardsim
