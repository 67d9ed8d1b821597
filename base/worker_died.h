#pragma once

#include <string>

#include "base/error.h"

namespace shardsim {

// The error that run_in_workers() throws for a worker that ended without reporting one.
struct WorkerDied : Error {
  WorkerDied(const std::string& name, int killer);
  int signal;  // that killed it; 0: it ended by itself
};

}  // namespace shardsim
