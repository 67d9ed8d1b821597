#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/program/program.h"
#include "sim/timeline/timeline.h"
#include "validate/emulated/campaign_report.h"
#include "validate/emulated/emulated_cluster.h"
#include "validate/execute/run/execute.h"

namespace shardsim {

// Items as the ranks ran them, each `repeats` times: one Timeline per item, its iterations are the repeats.
using ObserveItems = std::function<std::vector<Timeline>(const std::vector<CampaignItem>& items, int repeats)>;

// Checks what the links really carry; a second time when that is not what the shapers say. Returns the last rates.
std::vector<TierRate> guarded_rates(const EmulatedShape& shape, const ObserveItems& observe);

// Three repeats of every item, five more of those outside their band; `predicted` in the order of the items.
std::vector<CampaignRow> judged_rows(const std::vector<CampaignItem>& items, const std::vector<Timeline>& predicted,
                                     const ObserveItems& observe);

// Runs every Program on the ranks of the cluster, one after the other, with one rendezvous for all. One Timeline each.
// Errors: Failure::run with what the first rank said that failed; Interrupted.
std::vector<Timeline> observe_programs(EmulatedCluster& cluster, const std::vector<Program>& programs,
                                       const ExecuteOptions& options, const EmulatedCluster::Limits& limits);

// The same for items of the campaign: each repeat starts alone and synchronised, after one that is not kept. Refers to
// the cluster.
ObserveItems observer_of(EmulatedCluster& cluster, const EmulatedCluster::Limits& limits);

// The whole round without a scenario: predicts the campaign, builds the emulated cluster in this process, checks its
// rates point to point, runs the campaign, again with the NIC of rank 2 at half rate, and lays both side by side.
// Errors: Failure::run when a rank fails; Interrupted.
CampaignReport validate_emulated(const EmulatedShape& shape, const std::function<bool()>& interrupted);

}  // namespace shardsim
