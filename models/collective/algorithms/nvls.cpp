#include "models/collective/algorithms/schedules.h"

namespace shardsim {
namespace {

struct PortBytes {
  double out = 0, in = 0;
};

// Bytes that the port of every GPU carries, head or not: it gives its whole buffer to the switch's reduction, and takes
// the whole result of the switch's multicast.
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

// The heads of several nodes, [node][head], and what their ports carry as heads.
std::vector<std::vector<NodeChannel>> add_heads(const CollectiveCall& call, const std::vector<NodeMembers>& nodes,
                                                int heads, const Cluster& cluster, LoadBuilder& builder) {
  const double bytes = static_cast<double>(call.bytes);
  auto laid = channels_across(nodes, heads, cluster);
  for (std::size_t node = 0; node < laid.size(); ++node) {
    for (const NodeChannel& channel : laid[node]) {
      const int head = channel.ranks.front(), first = nodes[node].ranks.front();
      add_port(head, first == head ? nodes[node].ranks.back() : first, of_head(call.kind, bytes * channel.share),
               cluster, builder);
    }
  }
  return laid;
}

void add_members(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, const Cluster& cluster,
                 LoadBuilder& builder) {
  const PortBytes bytes = of_member(call.kind, static_cast<double>(call.bytes));
  for (const NodeMembers& node : nodes)
    for (std::size_t i = 0; i < node.ranks.size(); ++i)
      add_port(node.ranks[i], node.ranks[i == 0 ? 1 : 0], bytes, cluster, builder);
}

}  // namespace

void add_nvls(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int heads, const Cluster& cluster,
              LoadBuilder& builder) {
  const double bytes = static_cast<double>(call.bytes);
  add_members(call, nodes, cluster, builder);
  if (nodes.size() < 2) {
    const auto& ranks = nodes.front().ranks;
    const PortBytes share = of_head(call.kind, bytes * (1 / static_cast<double>(ranks.size())));
    for (int rank : ranks)
      add_port(rank, ranks.front() == rank ? ranks.back() : ranks.front(), share, cluster, builder);
    return;
  }
  add_tree_over_nodes(add_heads(call, nodes, heads, cluster, builder), bytes, builder);
}

void add_nvls_sharp(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int heads,
                    const Cluster& cluster, LoadBuilder& builder) {
  add_members(call, nodes, cluster, builder);
  add_round_over_nodes(add_heads(call, nodes, heads, cluster, builder), static_cast<double>(call.bytes), builder);
}

}  // namespace shardsim
