#pragma once

#include <string>

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

// One direction of one link: the unit of capacity in every simulation.
struct Link {
  std::string name;  // "node0/gpu3/nvlink_out", "node0/nvlink/0-3", "node1/nic2/out", "leaf0/up"
  LinkKind kind = LinkKind::nvlink_out;
  Bandwidth rate;  // effective rate, faults included
  int node = -1;   // -1: part of the fabric
  int leaf = -1;   // leaf links only
  int local = -1;  // index of this link among those of its node (or leaf): equal for the like link of another node
};

}  // namespace shardsim
