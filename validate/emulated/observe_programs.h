#pragma once

#include <vector>

#include "sim/program/program.h"
#include "sim/timeline/timeline.h"
#include "validate/emulated/campaign_round.h"
#include "validate/emulated/emulated_cluster.h"
#include "validate/execute/run/execute.h"

namespace shardsim {

// Runs every Program on the ranks of the cluster, one after the other, with one rendezvous for all. One Timeline each.
// Errors: Failure::run with what the first rank said that failed; Interrupted.
std::vector<Timeline> observe_programs(EmulatedCluster& cluster, const std::vector<Program>& programs,
                                       const ExecuteOptions& options, const EmulatedCluster::Limits& limits);

// The same for items of the campaign: each repeat starts alone and synchronised, after one that is not kept. Refers to
// the cluster.
ObserveItems observer_of(EmulatedCluster& cluster, const EmulatedCluster::Limits& limits);

}  // namespace shardsim
