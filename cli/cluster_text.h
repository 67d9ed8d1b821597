#pragma once

#include <string>

#include "topology/graph/cluster.h"

namespace shardsim {

// What `cluster show` prints: summary, tiers with their widths, the matrix of path classes, what each GPU's ports
// carry, what the file leaves open, and every value that states its source (fitted ones marked).
std::string cluster_text(const Cluster& cluster);

}  // namespace shardsim
