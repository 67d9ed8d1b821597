#pragma once

#include "base/tree.h"
#include "models/workload/workload.h"
#include "plan/plan.h"

namespace shardsim {

// What a plan file says of itself, without the workload and cluster that it was made for.
struct StandalonePlan {
  int tables = 0;
  int ranks = 0;
  int ranks_per_host = 1;  // by the device numbers of its placements
  bool cpus = false;       // all its shards lie on CPUs
  Plan plan;
  Workload workload;         // its tables, pooled, with one id a sample
  std::vector<int> unsized;  // tables whose size the file does not say (data_parallel); one row and column stand for it
};

// Checks a plan file on its own: tables and world are taken from the file (extents of its shards, highest rank named).
// Errors: Failure::input with the line, as plan_from_tree and check_plan find them.
StandalonePlan standalone_plan(const Tree& tree);

}  // namespace shardsim
