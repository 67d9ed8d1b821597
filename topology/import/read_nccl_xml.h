#pragma once

#include <string>
#include <string_view>

#include "topology/import/node_inventory.h"

namespace shardsim {

// A topology as NCCL dumps it (NCCL_TOPO_DUMP_FILE) or takes it (NCCL_TOPO_FILE): NVIDIA/nccl src/graph/xml.cc.
// Complete dumps give GPUs, NVLinks, NICs and the PCIe tree. Skeletons without <gpu> give the PCIe tree with its GPU
// and NIC slots; what they lack is in the notes. Of several hosts the first is read.
// A PCIe switch and each NUMA node become one of ours; links between PCIe switches (<pcilink>) and to CPUs (NVLink of
// POWER) are noted and left out.
// Errors (Failure::input, with line): malformed XML, another document than a topology, unknown elements, missing or
// impossible attributes, a bus id twice or below itself, NVLinks to no GPU or of differing counts, a count of zero.
NodeInventory read_nccl_xml(std::string_view text, const std::string& source);

}  // namespace shardsim
