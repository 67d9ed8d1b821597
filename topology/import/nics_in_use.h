#pragma once

#include <string>

#include "topology/import/node_inventory.h"

namespace shardsim {

// The rate that NCCL assumes for a NIC that states no speed (NVIDIA/nccl src/graph/topo.cc).
inline constexpr Bandwidth kUnstatedNic{10e9 / 8};

// Leaves out the NICs that carry no traffic of GPUs, and what of the PCIe tree and its sockets only they stood for:
// those slower than the fastest, and those that `list` does not name (see uses_nic()) or, without a list, that share no
// PCIe switch with a GPU where others do. Each is noted. Errors (Failure::input): the list names no NIC of the node.
void keep_used_nics(NodeInventory& node, const std::string& list);

}  // namespace shardsim
