#include "models/collective/algorithms/schedules.h"
#include "models/collective/channel_layout.h"
#include "models/collective/nccl/cost.h"

namespace shardsim {
namespace {

// Hops of one call: all carry the same bytes, but none that leads to the root of a broadcast.
class Hops {
 public:
  Hops(const CollectiveCall& call, LoadBuilder& builder)
      : bytes_(static_cast<double>(call.bytes) * bus_factor(call.kind, static_cast<int>(call.ranks.size()))),
        root_(call.kind == CollectiveKind::broadcast ? call.ranks.front() : -1),
        builder_(builder) {}

  void around(const std::vector<int>& order, bool closed, double share) {
    for (std::size_t i = 0; i + 1 < order.size(); ++i) local(order[i], order[i + 1], share);
    if (closed && order.size() > 1) local(order.back(), order.front(), share);
  }

  // One ring in group order: CPU ranks have a NIC each and know no channels.
  void in_order(const std::vector<int>& ranks, const Cluster& cluster) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const int from = ranks[i], to = ranks[(i + 1) % ranks.size()];
      if (cluster.node_of(from) == cluster.node_of(to)) {
        local(from, to, 1);
      } else if (to != root_) {
        builder_.add_across(from, to, bytes_);
      }
    }
  }

  // The last rank of a node hands its bytes to the first one, which has the channel's NIC, over NVLink (PXN). Without
  // PXN they go over PCIe to the NIC, which GPUDirect routes do not count. A ring that changes NICs leaves by that of
  // the last rank: of two such rings NCCL exchanges the nodes of odd number, so that both stay on their rails, and each
  // NIC carries as much as without that.
  void to_next_node(const std::vector<int>& order, const std::vector<int>& next, bool pxn, bool crosses, double share) {
    if (next.front() == root_) return;
    const int sender = crosses ? order.back() : order.front();
    if (pxn && sender != order.back()) builder_.add_local(order.back(), sender, bytes_ * share);
    builder_.add_across(sender, next.front(), bytes_ * share);
  }

 private:
  void local(int from, int to, double share) {
    if (to != root_) builder_.add_local(from, to, bytes_ * share);
  }

  double bytes_;
  int root_;  // -1: none
  LoadBuilder& builder_;
};

}  // namespace

void add_rings(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int channels, bool crosses,
               const Cluster& cluster, LoadBuilder& builder) {
  Hops hops(call, builder);
  if (nodes.size() < 2) {
    const auto rings = rings_in_nodes(nodes, cluster);
    for (const NodeChannel& ring : rings.front()) hops.around(ring.ranks, true, ring.share);
    return;
  }
  const bool pxn = uses_pxn(cluster);
  const auto laid = channels_across(nodes, channels, cluster);
  for (std::size_t node = 0; node < laid.size(); ++node) {
    const auto& next = laid[(node + 1) % laid.size()];
    for (std::size_t c = 0; c < laid[node].size(); ++c) {
      const NodeChannel& channel = laid[node][c];
      hops.around(channel.ranks, false, channel.share);
      hops.to_next_node(channel.ranks, next[c].ranks, pxn, crosses, channel.share);
    }
  }
}

// Rings through all ranks, in channels (all_reduce, reduce_scatter, all_gather, broadcast).
CollectiveLoads expand_ring(const CollectiveCall& call, const Cluster& cluster) {
  const CallShape shape = call_shape(call, cluster);
  LoadBuilder builder(call.ranks, shape, cluster);
  if (cluster.spec().device == "cpu") {
    Hops(call, builder).in_order(call.ranks, cluster);
  } else {
    add_rings(call, members_by_node(call.ranks, cluster), 0, cluster.spec().forced.cross_nic == kAlwaysCrossNic,
              cluster, builder);
  }
  const Seconds latency = nccl_steps(call.kind, shape.group.members) * builder.largest_latency();
  return {start_time(shape, latency, cluster), builder.loads(), true, "ring", {}};
}

}  // namespace shardsim
