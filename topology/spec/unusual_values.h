#pragma once

#include <string>
#include <vector>

#include "topology/spec/cluster_spec.h"

namespace shardsim {

// Sentences on values of a cluster of GPUs that are more than twice those of the best hardware sold, or less than a
// tenth of those of the least that is used for training, each with what it is beside: most are bits for bytes, or a
// wrong prefix. Small values are told of GPUs that are products; others may be small on purpose.
std::vector<std::string> unusual_values(const ClusterSpec& spec);

}  // namespace shardsim
