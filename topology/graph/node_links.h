#pragma once

#include <map>
#include <utility>
#include <vector>

#include "topology/graph/graph.h"
#include "topology/graph/link.h"
#include "topology/graph/nic_ports.h"

namespace shardsim {

// The links of one node in their fixed order, and the routes between its GPUs over them. Ids count within the node;
// names lack the node.
struct NodeLinks {
  std::vector<Link> links;
  std::vector<LinkId> nic_out, nic_in;      // by NIC port
  std::vector<LinkId> pcie_out, pcie_in;    // by GPU; empty when nothing goes over PCIe
  std::vector<std::vector<LinkId>> of_gpu;  // by GPU: its ports, its mesh links, PCIe trunks on its routes
  std::vector<std::vector<Route>> routes;   // [from][to]
};

// Errors (Failure::input): two GPUs without a way between them (names both).
NodeLinks build_node_links(const ClusterSpec& spec, const NodeGraph& graph, const NicPorts& ports);

}  // namespace shardsim
