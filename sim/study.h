#pragma once

#include <functional>
#include <string>

#include "sim/result.h"

namespace shardsim {

struct StudyOptions {
  int jobs = 1;                                          // worker processes at a time
  std::function<void(int done, int total)> progress;     // may be empty
  std::function<bool()> interrupted;                     // may be empty; true ends the workers and throws
};

// The plan of one case: read or made, checked, within memory.
Plan make_plan(const Case& item, const Scenario& scenario);

// Simulates every case, each in a worker process (SimGrid allows one engine per process). Same bytes for any number of
// jobs. Errors: those of planning and simulation; Failure::run naming the case when a worker dies.
StudyResult run_study(const Scenario& scenario, const StudyOptions& options);

}  // namespace shardsim
