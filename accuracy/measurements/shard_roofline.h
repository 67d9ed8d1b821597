#pragma once

#include <vector>

#include "models/learned/label_sets.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

class ShardWork;

// The roofline's values for lookups and updates (kernel_overhead, copy_bandwidth, lookups_per_ns, sort_per_lookup,
// sorted_update_efficiency) that come nearest to the labels, by the logarithms of predicted over labelled, large ones
// damped, as calibrate_compute() does for single calls. `work` and `labels`: one entry per shard, at least four.
GpuSpec calibrated_on_shards(const GpuSpec& prior, const std::vector<ShardWork>& work,
                             const std::vector<ShardSeconds>& labels);

}  // namespace shardsim
