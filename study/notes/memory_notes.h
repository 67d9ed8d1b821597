#pragma once

#include <string>

#include "topology/graph/cluster.h"

namespace shardsim {

// "the 76.15 GiB of a GPU (of its 79.65, 3.5 are reserved)": what a GPU has for a plan.
std::string room_text(const Cluster& cluster);

}  // namespace shardsim
