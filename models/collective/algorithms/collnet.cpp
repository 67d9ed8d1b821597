#include "models/collective/algorithms/schedules.h"

namespace shardsim {

void add_round_over_nodes(const std::vector<std::vector<NodeChannel>>& nodes, double bytes, LoadBuilder& builder) {
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const auto& next = nodes[(node + 1) % nodes.size()];
    for (std::size_t c = 0; c < nodes[node].size(); ++c)
      builder.add_across(nodes[node][c].ranks.front(), next[c].ranks.front(), bytes * nodes[node][c].share);
  }
}

void add_collnet_direct(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int channels,
                        const Cluster& cluster, LoadBuilder& builder) {
  const double bytes = static_cast<double>(call.bytes);
  const auto laid = channels_across(nodes, channels, cluster);
  for (std::size_t node = 0; node < laid.size(); ++node) {
    for (const NodeChannel& channel : laid[node]) {
      const int head = channel.ranks.front();
      for (int rank : nodes[node].ranks) {
        if (rank == head) continue;
        builder.add_local(rank, head, bytes * channel.share);
        builder.add_local(head, rank, bytes * channel.share);
      }
    }
  }
  add_round_over_nodes(laid, bytes, builder);
}

void add_collnet_chain(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int channels,
                       const Cluster& cluster, LoadBuilder& builder) {
  const double bytes = static_cast<double>(call.bytes);
  const auto laid = channels_across(nodes, channels, cluster);
  for (const auto& of_node : laid) {
    for (const NodeChannel& channel : of_node) {
      for (std::size_t i = 0; i + 1 < channel.ranks.size(); ++i) {
        builder.add_local(channel.ranks[i], channel.ranks[i + 1], bytes * channel.share);
        builder.add_local(channel.ranks[i + 1], channel.ranks[i], bytes * channel.share);
      }
    }
  }
  add_round_over_nodes(laid, bytes, builder);
}

}  // namespace shardsim
