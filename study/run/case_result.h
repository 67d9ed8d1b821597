#pragma once

#include <string>
#include <vector>

#include "sim/engine/jobs/job_engine.h"
#include "sim/engine/op_work.h"
#include "study/planning/prepared_case.h"
#include "study/result/result.h"
#include "study/why/change.h"

namespace shardsim {

// The work of a case's worker: it simulates the case, at the observed payload too where its workload states one, and
// says all that can be said without other cases. `pareto`: with the figures of the replicated rows of its tables.
CaseResult simulated_case(const PreparedCase& prepared, bool pareto);

// The rest, for a case whose simulation is there: `simulated` at the planned payload.
CaseResult described_case(const PreparedCase& prepared, SimulationResult simulated, double estimate_ms, bool pareto);

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

// The jobs side by side; `edit` changes what the operations of each take. They lie on parts of the first one's cluster.
std::vector<JobSimulation> simulated_side_by_side(const std::vector<const PreparedCase*>& jobs, const WorksEdit& edit);

// A sentence that says which iteration is shown where only one can be shown.
std::string shared_fabric_text(int measured, double mean_ms, double kept_ms);

// The work of a fabric's worker: it simulates the jobs side by side, and computes for each what simulated_case computes
// for a case, except the time that the job takes alone. `pareto`: by job.
std::vector<CaseResult> simulated_jobs(const JobGroup& group, const std::vector<bool>& pareto);

}  // namespace shardsim
