#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/op_work.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// Nodes that a Program cannot tell apart: equal link rates, equal loads in every operation, equal compute times, and
// groups made of the same classes of nodes. All nodes of a class do the same at the same times, to the last bit, so
// only one node of each class is simulated and stands for the others. Nodes share no links except those of the fabric's
// leaves. The loads of these are sums over all their nodes, so they belong to the signature of each of these nodes.
struct NodeClasses {
  std::vector<int> representative;  // [node] the node that stands for it (lowest of its class)

  bool is_representative(int node) const { return representative[node] == node; }
  // The rank whose spans are those of `rank`.
  int stand_in(int rank, const Cluster& cluster) const {
    return representative[cluster.node_of(rank)] * cluster.ranks_per_node() + cluster.gpu_of(rank);
  }
};

// `marks`: one number per node, or none; nodes with different ones are told apart (their leaves carry what only one of
// them sees).
NodeClasses classify_nodes(const std::vector<OpWork>& works, const Cluster& cluster,
                           const std::vector<std::uint64_t>& marks = {});

}  // namespace shardsim
