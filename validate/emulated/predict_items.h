#pragma once

#include <vector>

#include "sim/timeline/timeline.h"
#include "topology/spec/cluster_spec.h"
#include "validate/emulated/campaign.h"

namespace shardsim {

// Each item simulated on the cluster, one iteration that starts alone; in processes of their own (SimGrid allows one
// engine per process). Errors: those of the simulation, naming the item.
std::vector<Timeline> predict_items(const std::vector<CampaignItem>& items, const ClusterSpec& cluster);

// The shipped cluster file of the emulated cluster, in another shape. Errors: the file cannot be read.
ClusterSpec emulated_cluster_spec(const NodeShape& shape);

// The same with one rank's NIC at half rate.
ClusterSpec with_straggler(ClusterSpec cluster, int rank);

// From the first start to the last end of each iteration that the Timeline kept, in ms, in order.
std::vector<double> makespans_ms(const Timeline& timeline);

// The same for the operations of one stream, counted from the first start on any stream.
std::vector<double> stream_ends_ms(const Timeline& timeline, int stream);

}  // namespace shardsim
