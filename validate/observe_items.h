#pragma once

#include <functional>
#include <vector>

#include "sim/timeline.h"
#include "validate/campaign.h"
#include "validate/emulated_cluster.h"
#include "validate/execute/execute.h"

namespace shardsim {

// Runs every item on the ranks of the cluster, one after the other, with one rendezvous for all. One Timeline per item.
// Errors: Failure::run with what the first rank said that failed; Interrupted.
std::vector<Timeline> observe_items(EmulatedCluster& cluster, const std::vector<CampaignItem>& items,
                                    const ExecuteOptions& options, const EmulatedCluster::Limits& limits);

}  // namespace shardsim
