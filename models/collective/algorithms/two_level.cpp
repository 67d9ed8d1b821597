#include "models/collective/channel_layout.h"
#include "models/collective/load_builder.h"

namespace shardsim {
namespace {

// Reduce-scatter, later all-gather, of the whole buffer over the rings of one node.
void add_inside(const std::vector<NodeChannel>& rings, double bytes, LoadBuilder& builder) {
  for (const NodeChannel& ring : rings) {
    const double p = static_cast<double>(ring.ranks.size());
    for (std::size_t i = 0; i < ring.ranks.size(); ++i)
      builder.add_local(ring.ranks[i], ring.ranks[(i + 1) % ring.ranks.size()], 2 * (p - 1) / p * bytes * ring.share);
  }
}

// All-reduce of the i-th shard around the i-th member of every node, each over its own NIC.
void add_across(const std::vector<NodeMembers>& nodes, double bytes, LoadBuilder& builder) {
  const double n = static_cast<double>(nodes.size());
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const auto& ranks = nodes[node].ranks;
    const auto& next = nodes[(node + 1) % nodes.size()].ranks;
    const double shard = bytes / static_cast<double>(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) builder.add_across(ranks[i], next[i], 2 * (n - 1) / n * shard);
  }
}

}  // namespace

// Rings inside the nodes and, at the same time, rings across them (all_reduce).
// The levels are pipelined: the loads of all levels are in one set, so the slowest level sets the time. A group without
// two even levels (one node, one rank per node, unequal nodes) goes around a plain ring, and says so.
CollectiveLoads expand_two_level(const CollectiveCall& call, const Cluster& cluster) {
  const CallShape whole = call_shape(call, cluster);
  const GroupShape& shape = whole.group;
  if (!shape.across_nodes() || shape.max_per_node < 2 || shape.min_per_node != shape.max_per_node)
    return expand_collective(call, cluster, "ring");
  const auto nodes = members_by_node(call.ranks, cluster);
  const double bytes = static_cast<double>(call.bytes);
  LoadBuilder builder(call.ranks, whole, cluster);
  for (const auto& rings : rings_in_nodes(nodes, cluster)) add_inside(rings, bytes, builder);
  const Seconds inside = 2 * (shape.max_per_node - 1) * builder.largest_latency();
  add_across(nodes, bytes, builder);
  const Seconds across = 2 * (shape.nodes - 1) * builder.largest_latency();
  return {start_time(whole, inside + across, cluster), builder.loads(), true, "two_level", {}};
}

}  // namespace shardsim
