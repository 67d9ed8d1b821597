#pragma once

#include <string>

#include "base/error.h"

namespace shardsim {

// What run_in_workers() throws of a worker that ended without a word.
struct WorkerDied : Error {
  WorkerDied(const std::string& name, int killer);
  int signal;  // that killed it; 0: it ended by itself
};

}  // namespace shardsim
