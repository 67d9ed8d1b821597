#include "models/channel_layout.h"
#include "models/collectives/algorithms.h"
#include "models/load_builder.h"

namespace shardsim {
namespace {

// Times that each byte of a channel crosses each hop of a ring of n ranks.
double crossings(CollectiveKind kind, int members) {
  const double once = (members - 1.0) / members;
  return kind == CollectiveKind::all_reduce ? 2 * once : once;
}

int step_count(CollectiveKind kind, int members) {
  return kind == CollectiveKind::all_reduce ? 2 * (members - 1) : members - 1;
}

void add_hops(const std::vector<int>& order, bool closed, double bytes, LoadBuilder& builder) {
  for (std::size_t i = 0; i + 1 < order.size(); ++i) builder.add_local(order[i], order[i + 1], bytes);
  if (closed && order.size() > 1) builder.add_local(order.back(), order.front(), bytes);
}

// The last rank of a node hands its bytes to the first one, which has the channel's NIC, over NVLink (PXN). Without PXN
// they go over PCIe to the NIC, which GPUDirect routes do not count.
void add_rings_across(const std::vector<std::vector<NodeChannel>>& nodes, double bytes, const Cluster& cluster,
                      LoadBuilder& builder) {
  const ClusterSpec& spec = cluster.spec();
  const bool closed = spec.p2p.pxn.value_or(spec.nvlink.kind != NvlinkKind::none && spec.nics->gpudirect);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const auto& next = nodes[(node + 1) % nodes.size()];
    for (std::size_t c = 0; c < nodes[node].size(); ++c) {
      const NodeChannel& channel = nodes[node][c];
      add_hops(channel.ranks, closed, bytes * channel.share, builder);
      builder.add_across(channel.ranks.front(), next[c].ranks.front(), bytes * channel.share);
    }
  }
}

class Ring : public CollectiveAlgorithm {
 public:
  bool supports(CollectiveKind kind) const override { return kind != CollectiveKind::all_to_all; }

  CollectiveLoads expand(const CollectiveCall& call, const Cluster& cluster) const override {
    CollectiveLoads result{{}, {}, true, "ring"};
    const GroupShape shape = group_shape(call.ranks, cluster);
    if (shape.members < 2) return result;
    LoadBuilder builder(call.kind, shape.across_nodes(), cluster);
    const auto nodes = members_by_node(call.ranks, cluster);
    const double bytes = static_cast<double>(call.bytes) * crossings(call.kind, shape.members);
    if (shape.across_nodes()) {
      add_rings_across(channels_across(nodes, cluster), bytes, cluster, builder);
    } else {
      const auto rings = rings_in_nodes(nodes, cluster);
      for (const NodeChannel& ring : rings.front()) add_hops(ring.ranks, true, bytes * ring.share, builder);
    }
    const Seconds latency = step_count(call.kind, shape.members) * builder.largest_latency();
    result.start = start_time(call.kind, shape, latency, cluster);
    result.loads = builder.loads();
    return result;
  }
};

}  // namespace

std::unique_ptr<CollectiveAlgorithm> make_ring() {
  return std::make_unique<Ring>();
}

}  // namespace shardsim
