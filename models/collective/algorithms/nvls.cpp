#include "models/collective/algorithms/algorithms.h"

namespace shardsim {
namespace {

struct PortBytes {
  double out = 0, in = 0;
};

// What a GPU's port carries besides what it carries as a head: it gives its whole buffer to the switch's reduction, and
// takes the whole result of the switch's multicast.
PortBytes of_member(CollectiveKind kind, double bytes) {
  return {kind == CollectiveKind::all_gather ? 0 : bytes, kind == CollectiveKind::reduce_scatter ? 0 : bytes};
}

// A head fetches its share reduced, and sends its share to the multicast.
PortBytes of_head(CollectiveKind kind, double bytes) {
  return {kind == CollectiveKind::reduce_scatter ? 0 : bytes, kind == CollectiveKind::all_gather ? 0 : bytes};
}

void add_port(int rank, int neighbour, PortBytes bytes, const Cluster& cluster, LoadBuilder& builder) {
  const int node = cluster.node_of(rank), gpu = cluster.gpu_of(rank), other = cluster.gpu_of(neighbour);
  builder.add_link(cluster.on_node(cluster.local_route(gpu, other).links.front(), node), bytes.out);
  builder.add_link(cluster.on_node(cluster.local_route(other, gpu).links.back(), node), bytes.in);
}

}  // namespace

void add_nvls(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int heads, const Cluster& cluster,
              LoadBuilder& builder) {
  const double bytes = static_cast<double>(call.bytes);
  for (const NodeMembers& node : nodes)
    for (std::size_t i = 0; i < node.ranks.size(); ++i)
      add_port(node.ranks[i], node.ranks[i == 0 ? 1 : 0], of_member(call.kind, bytes), cluster, builder);
  const auto add_head = [&](int rank, const NodeMembers& node, double share) {
    const int neighbour = node.ranks.front() == rank ? node.ranks.back() : node.ranks.front();
    add_port(rank, neighbour, of_head(call.kind, bytes * share), cluster, builder);
  };
  if (nodes.size() < 2) {
    const auto& ranks = nodes.front().ranks;
    for (int rank : ranks) add_head(rank, nodes.front(), 1 / static_cast<double>(ranks.size()));
    return;
  }
  const auto laid = channels_across(nodes, heads, cluster);
  for (std::size_t node = 0; node < laid.size(); ++node)
    for (const NodeChannel& channel : laid[node]) add_head(channel.ranks.front(), nodes[node], channel.share);
  add_tree_over_nodes(laid, bytes, builder);
}

}  // namespace shardsim
