#pragma once

#include "topology/spec/cluster_spec.h"

namespace shardsim {

// Refuses what no single key shows: a world of over 1,000,000 ranks, a fault outside the cluster or on a port that does
// not exist. Errors: Failure::input at the place of the map.
void check_spec(const ClusterSpec& spec);

// Refuses a cluster of several nodes without NICs: a file may hold one, no run can use it.
void check_runnable(const ClusterSpec& spec);

}  // namespace shardsim
