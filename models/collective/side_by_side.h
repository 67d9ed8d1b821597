#pragma once

#include <vector>

#include "models/collective/collective.h"

namespace shardsim {

// Calls that start at the same time and share what links they have in common, max-min fairly, as a simulation does.
struct SideBySide {
  Seconds time;            // until the last one ends when nothing else runs
  LinkId bottleneck = -1;  // the link that ends last, of links that end together the busiest; -1: nothing moves
};
SideBySide side_by_side(const std::vector<const CollectiveLoads*>& calls, const Cluster& cluster);

}  // namespace shardsim
