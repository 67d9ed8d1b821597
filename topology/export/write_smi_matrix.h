#pragma once

#include <string>

#include "topology/graph/cluster.h"

namespace shardsim {

// The GPUs and NICs of a node as `nvidia-smi topo -m` prints them: NV#, PIX, PXB, NODE, SYS; read_smi_matrix() reads it
// back. Between two GPUs without NVLink the PCIe class stands, relay or not, as nvidia-smi has it. Two devices of one
// socket but under different switches are NODE. The last column is the socket.
// Over 64 NICs are left out.
std::string write_smi_matrix(const ClusterSpec& spec);

}  // namespace shardsim
