#include <algorithm>
#include <bit>

#include "models/collective/algorithms/schedules.h"
#include "models/collective/channel_layout.h"

namespace shardsim {
namespace {

// Parent of a node in the binary tree over `nodes` in which every other node is a leaf; -1 for the root, node 0
// (NVIDIA/nccl src/graph/trees.cc ncclGetBtree).
int parent_of(int node, int nodes) {
  if (node == 0) return -1;
  const int bit = node & -node;
  const int up = (node ^ bit) | (bit << 1);
  return up < nodes ? up : node ^ bit;
}

// The second tree (ncclGetDtree): mirrored for an even number of nodes, shifted by one for an odd number, so that most
// leaves of one tree are inner nodes of the other.
int second_parent_of(int node, int nodes) {
  const bool mirrored = nodes % 2 == 0;
  const int image = mirrored ? nodes - 1 - node : (node - 1 + nodes) % nodes;
  const int parent = parent_of(image, nodes);
  if (parent < 0) return -1;
  return mirrored ? nodes - 1 - parent : (parent + 1) % nodes;
}

// Up for the reduction, down for the broadcast.
void add_edge(int child, int parent, double bytes, LoadBuilder& builder) {
  builder.add_across(child, parent, bytes);
  builder.add_across(parent, child, bytes);
}

void add_chain(const NodeChannel& channel, double bytes, LoadBuilder& builder) {
  for (std::size_t i = 0; i + 1 < channel.ranks.size(); ++i) {
    builder.add_local(channel.ranks[i], channel.ranks[i + 1], bytes * channel.share);
    builder.add_local(channel.ranks[i + 1], channel.ranks[i], bytes * channel.share);
  }
}

void add_chains(const std::vector<std::vector<NodeChannel>>& nodes, double bytes, LoadBuilder& builder) {
  for (const auto& channels : nodes)
    for (const NodeChannel& channel : channels) add_chain(channel, bytes, builder);
}

std::vector<std::vector<NodeChannel>> channels_of(const std::vector<NodeMembers>& nodes, int channels,
                                                  const Cluster& cluster) {
  return nodes.size() > 1 ? channels_across(nodes, channels, cluster) : rings_in_nodes(nodes, cluster);
}

}  // namespace

void add_tree_over_nodes(const std::vector<std::vector<NodeChannel>>& nodes, double bytes, LoadBuilder& builder) {
  const int count = static_cast<int>(nodes.size());
  for (int node = 0; node < count; ++node)
    for (std::size_t c = 0; c < nodes[node].size(); ++c)
      for (int parent : {parent_of(node, count), second_parent_of(node, count)}) {
        if (parent < 0) continue;
        const double half = bytes * nodes[node][c].share / 2;
        add_edge(nodes[node][c].ranks.front(), nodes[parent][c].ranks.front(), half, builder);
      }
}

void add_double_tree(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int channels,
                     const Cluster& cluster, LoadBuilder& builder) {
  const auto laid = channels_of(nodes, channels, cluster);
  add_chains(laid, static_cast<double>(call.bytes), builder);
  add_tree_over_nodes(laid, static_cast<double>(call.bytes), builder);
}

// Double binary tree over the nodes, chains inside them (all_reduce).
CollectiveLoads expand_tree(const CollectiveCall& call, const Cluster& cluster) {
  const CallShape shape = call_shape(call, cluster);
  const GroupShape& group = shape.group;
  const auto nodes = channels_of(members_by_node(call.ranks, cluster), 0, cluster);
  const double bytes = static_cast<double>(call.bytes);
  LoadBuilder builder(call.ranks, shape, cluster);
  add_chains(nodes, bytes, builder);
  const Seconds chain = (group.max_per_node - 1) * builder.largest_latency();
  add_tree_over_nodes(nodes, bytes, builder);
  const auto levels = static_cast<int>(std::bit_width(static_cast<unsigned>(group.nodes - 1)));
  const Seconds across = group.across_nodes() ? levels * builder.largest_latency() : Seconds{};
  return {start_time(shape, 2 * (chain + across), cluster), builder.loads(), true, "tree", {}};
}

}  // namespace shardsim
