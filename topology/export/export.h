#pragma once

#include <string>

#include "topology/graph/cluster.h"

namespace shardsim {

// The cluster as a SimGrid platform file (simgrid docs/source/XML_reference.rst, version 4.1), for looking at it with
// other tools; shardsim never reads it. A host per rank with the GPU's fp32 rate; every port and link with its
// effective rate, the two directions of one port as one SPLITDUPLEX link; a route for every ordered pair of ranks,
// whose latency is a FATPIPE link of its own. Where relayed bytes are split, the way with the largest share stands.
// Errors (Failure::input): over 1,024 ranks, because the routes grow with their square.
std::string write_simgrid_xml(const Cluster& cluster);

// The GPUs and NICs of a node as `nvidia-smi topo -m` prints them: NV#, PIX, PXB, NODE, SYS; read_smi_matrix() reads it
// back. Between two GPUs without NVLink the PCIe class stands, relay or not, as nvidia-smi has it. Two devices of one
// socket but under different switches are NODE. The last column is the socket.
// Over 64 NICs are left out.
std::string write_smi_matrix(const ClusterSpec& spec);

}  // namespace shardsim
