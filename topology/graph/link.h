#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace shardsim {

using LinkId = int;  // index into Cluster::links()

enum class LinkKind {
  nvlink_out,  // GPU to NVSwitch
  nvlink_in,
  nvlink_mesh,  // GPU to GPU
  pcie_out,     // GPU to its PCIe switch
  pcie_in,
  pcie_trunk,  // between PCIe switches and CPU sockets; on routes inside a node only
  nic_out,
  nic_in,
  leaf_up,
  leaf_down
};

inline bool is_nvlink(LinkKind kind) {
  return kind == LinkKind::nvlink_out || kind == LinkKind::nvlink_in || kind == LinkKind::nvlink_mesh;
}
inline bool is_pcie(LinkKind kind) {
  return kind == LinkKind::pcie_out || kind == LinkKind::pcie_in || kind == LinkKind::pcie_trunk;
}
inline bool is_nic(LinkKind kind) {
  return kind >= LinkKind::nic_out;
}

// One direction of one link: the unit of capacity in every simulation. A large world has hundreds of thousands, which
// have no name until it is asked for (Cluster::link_name).
struct Link {
  LinkKind kind = LinkKind::nvlink_out;
  Bandwidth rate;  // effective rate, faults included
  int node = -1;   // -1: part of the fabric
  int leaf = -1;   // leaf links only
  int local = -1;  // index of this link among those of its node (or leaf): equal for the like link of another node
};

// Near to far, as `nvidia-smi topo -m` and NCCL name them.
enum class PathClass { loc, nvl, nvb, pix, pxb, phb, sys, net };

std::string_view path_class_name(PathClass path);  // "LOC", "NVL", ...

// The way bytes take between two ranks.
struct Route {
  PathClass path = PathClass::loc;
  std::vector<LinkId> links;  // in order; each carries all the bytes
  Bandwidth width;            // of the narrowest link (0 on the way to oneself)
  Seconds latency;
  std::optional<int> relay;   // local GPU index, NVB only
  double share = 1;           // part of the bytes that goes this way; below 1 when `also` has other ways
  bool through_host = false;  // written to host memory by one GPU and read there by the other
  std::vector<Route> also;    // relay rule `balanced`: ways over other relays; the shares add up to 1
};

// Which NICs a node's GPUs use. A port is what traffic sees: one NIC, or all NICs of a GPU that has several.
struct NicPorts {
  std::vector<std::vector<int>> nics;  // by port
  std::vector<int> port_of_gpu;        // empty without NICs
};

// The links of one node in their fixed order, and the routes between its GPUs over them. Ids count within the node.
struct NodeLinks {
  std::vector<Link> links;
  std::vector<std::string> names;           // of these, without the node
  std::vector<LinkId> nic_out, nic_in;      // by NIC port
  std::vector<LinkId> pcie_out, pcie_in;    // by GPU; empty when nothing goes over PCIe
  std::vector<std::vector<LinkId>> of_gpu;  // by GPU: its ports, its mesh links, PCIe trunks on its routes
  std::vector<std::vector<Route>> routes;   // [from][to]
};

}  // namespace shardsim
