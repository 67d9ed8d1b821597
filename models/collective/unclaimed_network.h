#pragma once

#include <string>

#include "topology/spec/cluster_spec.h"

namespace shardsim {

// The name of the network between nodes for which no accuracy is claimed ("EFA"); "" where one is, as on InfiniBand, or
// on a cluster that was calibrated on measurements of its own, or of CPUs.
std::string unclaimed_network(const ClusterSpec& spec);

}  // namespace shardsim
