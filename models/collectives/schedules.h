#pragma once

#include "models/channel_layout.h"
#include "models/load_builder.h"

namespace shardsim {

// What the schedules of a reduction put on the links. `nodes`: members_by_node() of the call, two ranks or more.
// `channels`: over several nodes; 0: as channels_across() finds them. Latencies of the hops go to the builder.

// Rings through all ranks: every hop carries 2 (n-1)/n of an all_reduce, (n-1)/n of a gathered or scattered total, all
// of a broadcast (but no hop leads to its root).
void add_rings(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int channels, const Cluster& cluster,
               LoadBuilder& builder);

}  // namespace shardsim
