#pragma once

#include <vector>

#include "topology/graph/cluster.h"

namespace shardsim {

// One channel inside one node: the order in which it passes the group's ranks there, and its share of the bytes.
struct NodeChannel {
  std::vector<int> ranks;
  double share = 1;
};

// The members of a group on one node.
struct NodeMembers {
  int node = 0;
  std::vector<int> ranks;      // rising
  std::vector<int> positions;  // in the group, of each of `ranks`
};

std::vector<NodeMembers> members_by_node(const std::vector<int>& ranks, const Cluster& cluster);  // by rising node

// The closed rings of a group's ranks inside each of its nodes, [node][ring]; shares sum to 1 on every node. Orders:
// the cluster's graph where it states them, else rings over the links of a mesh, else one ring in index order (over a
// switch every order costs the same).
std::vector<std::vector<NodeChannel>> rings_in_nodes(const std::vector<NodeMembers>& nodes, const Cluster& cluster);

// The channels of a group over several nodes, alike on every node: [node][channel]. `channels` of them, or with 0
// as many as the cluster's graph states, else one per NIC in use. Channel c starts at the rank that has the c-th NIC,
// so that each NIC carries its own channels in and out (NVIDIA/nccl src/graph/search.cc).
std::vector<std::vector<NodeChannel>> channels_across(const std::vector<NodeMembers>& nodes, int channels,
                                                      const Cluster& cluster);

}  // namespace shardsim
