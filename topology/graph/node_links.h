#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "topology/graph/graph.h"
#include "topology/graph/link.h"

namespace shardsim {

// Nearest by path class, then lowest index, of the NICs that still have room: each serves as many GPUs as the file
// says. With `per_node` GPU g uses NIC g mod count.
NicPorts deal_nics(const ClusterSpec& spec, const NodeGraph& graph);

// The ways that bytes take between two GPUs of a node: one, or with relay rule `balanced` several with their shares.
struct LocalWay {
  NodePath path;
  double share = 1;
};
using LocalWays = std::vector<LocalWay>;

// [from][to], by the spec's relay rule; empty from a GPU to itself. Unlinked pairs without a relay, or with relay rule
// `none`, go over PCIe, and through host memory beyond direct_reach(). Without any PCIe peer-to-peer between GPUs, such
// a pair of a node with NVLinks is an error (Failure::input) that names both. The balanced shares are those for which
// the fullest link of a uniform all-to-all is as empty as possible.
std::vector<std::vector<LocalWays>> local_paths(const ClusterSpec& spec, const NodeGraph& graph);

// The farthest class of paths over PCIe whose ends copy to each other directly, by `pcie.p2p` and `p2p_level`; by
// NCCL's rule as in ncclTopoCheckP2p() (NVIDIA/nccl src/graph/paths.cc).
PathClass direct_reach(const ClusterSpec& spec);

// One unit of traffic that may be split over several ways; each way loads the links it names.
struct SplitDemand {
  std::vector<std::vector<std::size_t>> ways;
};

// Shares of each demand's ways (they add up to 1) for which the fullest link, load over capacity, is as empty as
// possible; `load` is what the links carry already. An exact linear programme, the same for the same input.
std::vector<std::vector<double>> balanced_shares(const std::vector<double>& capacity, const std::vector<double>& load,
                                                 const std::vector<SplitDemand>& demands);

// Errors (Failure::input): two GPUs without a way between them (names both).
NodeLinks build_node_links(const ClusterSpec& spec, const NodeGraph& graph, const NicPorts& ports);

}  // namespace shardsim
