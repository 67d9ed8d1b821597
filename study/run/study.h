#pragma once

#include "base/workers.h"
#include "sim/lower/known_shares.h"
#include "study/planning/prepared_case.h"
#include "study/result/result.h"

namespace shardsim {

// Refuses jobs whose starts or lengths are too far apart to be simulated side by side (study/run/case_result.h), and
// what making their plans refuses.
void check_job_groups(const Scenario& scenario, const PlanWatch& watch);

// Simulates every case, each in a worker process (SimGrid allows one engine per process); jobs of one fabric in one,
// and each of them alone. Workers do everything for their case; here plans are made and results are collected. Same
// result for any number of processes. All plans are made before the first simulation, so that bad input costs no
// waiting. Errors: those of planning and simulation; Failure::run naming the case when a worker dies.
// `kept`: what earlier studies of this process found out about their tables. With it a single case that takes some
// tenths of a second at most is simulated in this process.
StudyResult run_study(const Scenario& scenario, const WorkerOptions& options, KeptShares* kept = nullptr);

}  // namespace shardsim
