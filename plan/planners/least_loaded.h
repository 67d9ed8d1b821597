#pragma once

#include <vector>

#include "models/workload/workload.h"

namespace shardsim {

// Largest table first to the place (a rank, a node) with the least bytes so far; ties to the earlier table and the
// lower place. Returns the place of each table.
std::vector<int> least_loaded(const Workload& workload, int places);

}  // namespace shardsim
