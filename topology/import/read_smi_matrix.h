#pragma once

#include <string>
#include <string_view>

#include "topology/import/node_inventory.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {

// The matrix of `nvidia-smi topo -m`, tab or blank separated, with or without NIC rows' affinities, legend and NIC
// names below; terminal escapes are dropped. Cells: X, NV#, PIX, PXB, PHB, NODE, SYS (SOC of old drivers). The matrix
// says classes, never rates: the model says how many links make a switch. Every pair with the same NV#, equal to the
// links of `model`: an NVSwitch; else a mesh. PCIe between GPUs that show NV# is hidden: their switches follow from
// what both say of the NICs and from the NUMA column. Errors (Failure::input, with line): no matrix, a row or cell
// missing or unknown, an asymmetric pair, NV0, classes that no tree of switches and sockets can have.
NodeInventory read_smi_matrix(std::string_view text, const std::string& source, const GpuModel& model);

// True when the text is no XML but holds a header line of such a matrix.
bool looks_like_smi_matrix(std::string_view text);

}  // namespace shardsim
