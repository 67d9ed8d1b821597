#pragma once

#include <vector>

#include "topology/graph/graph.h"

namespace shardsim {

// Which NICs a node's GPUs use. A port is what traffic sees: one NIC, or all NICs of a GPU that has several.
struct NicPorts {
  std::vector<std::vector<int>> nics;  // by port
  std::vector<int> port_of_gpu;        // empty without NICs
};

// Nearest by path class, then lowest index, of the NICs that still have room: each serves as many GPUs as the file
// says. With `per_node` GPU g uses NIC g mod count.
NicPorts deal_nics(const ClusterSpec& spec, const NodeGraph& graph);

}  // namespace shardsim
