#pragma once

#include <vector>

#include "topology/graph/graph.h"

namespace shardsim {

// The ways that bytes take between two GPUs of a node: one, or with relay rule `balanced` several with their shares.
struct LocalWay {
  NodePath path;
  double share = 1;
};
using LocalWays = std::vector<LocalWay>;

// [from][to], by the spec's relay rule; empty from a GPU to itself. Unlinked pairs without a relay, or with relay rule
// `none`, go over PCIe; without PCIe peer-to-peer between GPUs, a node without NVLink goes through host memory and any
// other pair is an error (Failure::input) that names both. The balanced shares are those for which the fullest link of
// a uniform all-to-all is as empty as possible.
std::vector<std::vector<LocalWays>> local_paths(const ClusterSpec& spec, const NodeGraph& graph);

}  // namespace shardsim
