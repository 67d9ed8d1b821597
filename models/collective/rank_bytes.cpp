#include "models/collective/rank_bytes.h"

#include <algorithm>
#include <map>

#include "models/collective/channel_layout.h"
#include "models/collective/load_builder.h"

namespace shardsim {
namespace {

class Sums {
 public:
  Sums(const std::vector<int>& ranks, const std::vector<RankBytes>& bytes, const Cluster& cluster)
      : ranks_(ranks),
        bytes_(bytes),
        cluster_(cluster),
        nodes_(members_by_node(ranks, cluster)),
        call_(call_shape(ranks, bytes, cluster)),
        shape_(call_.group),
        builder_(ranks, call_, cluster) {}

  CollectiveLoads loads() {
    for (const NodeMembers& node : nodes_) {
      add_in_node(node);
      if (shape_.across_nodes()) add_off_node(node);
    }
    if (shape_.across_nodes()) add_leaves();
    return builder_.exchange(call_);
  }

 private:
  int nic_of(int member) const { return cluster_.nic_of(cluster_.gpu_of(ranks_[member])); }

  void add_in_node(const NodeMembers& node) {
    if (node.positions.size() < 2) return;
    if (cluster_.spec().nvlink.kind == NvlinkKind::nvswitch) {
      for (int member : node.positions) add_ports(member, node);
    } else {
      add_pairs(node);
    }
  }

  // On a switch ports count, whoever the peer is.
  void add_ports(int member, const NodeMembers& node) {
    const int peer = node.positions[node.positions.front() == member ? 1 : 0];
    const Route& out = cluster_.local_route(cluster_.gpu_of(ranks_[member]), cluster_.gpu_of(ranks_[peer]));
    const Route& in = cluster_.local_route(cluster_.gpu_of(ranks_[peer]), cluster_.gpu_of(ranks_[member]));
    builder_.note_latency(out.latency);
    builder_.add_link(cluster_.on_node(out.links.front(), node.node), in_double(bytes_[member].sent_in_node));
    builder_.add_link(cluster_.on_node(in.links.back(), node.node), in_double(bytes_[member].received_in_node));
  }

  // On a mesh and over PCIe the peer decides which links carry the bytes.
  void add_pairs(const NodeMembers& node) {
    std::vector<double> sent, received;
    for (int member : node.positions) {
      sent.push_back(in_double(bytes_[member].sent_in_node));
      received.push_back(in_double(bytes_[member].received_in_node));
    }
    const std::vector<double> pairs = pairs_of_sums(sent, received);
    const std::size_t members = node.positions.size();
    for (std::size_t from = 0; from < members; ++from)
      for (std::size_t to = 0; to < members; ++to)
        if (from != to)
          builder_.add_local(ranks_[node.positions[from]], ranks_[node.positions[to]], pairs[from * members + to]);
  }

  void add_off_node(const NodeMembers& node) {
    builder_.note_latency(cluster_.spec().nics->latency);
    const RailSenders senders(node, cluster_);
    for (int member : node.positions) {
      const RankBytes& bytes = bytes_[member];
      builder_.add_off_node(ranks_[member], senders,
                            {in_double(bytes.sent_off_node), in_double(bytes.received_off_node), rails_of(member)});
    }
    cap(node);
  }

  // Rails that members of the other nodes have, evenly, where the sums do not say.
  std::vector<double> rails_of(int member) const {
    const RankBytes& bytes = bytes_[member];
    if (!bytes.sent_to_rail.empty()) return {bytes.sent_to_rail.begin(), bytes.sent_to_rail.end()};
    std::vector<double> rails(cluster_.nics_per_node(), 0.0);
    for (std::size_t peer = 0; peer < nodes_.front().positions.size(); ++peer)
      rails[nic_of(nodes_.front().positions[peer])] +=
          in_double(bytes.sent_off_node) / static_cast<double>(nodes_.front().positions.size());
    return rails;
  }

  // Every remote peer counts as one that takes part.
  void cap(const NodeMembers& node) {
    const double pair_rate = remote_pair_rate(shape_, cluster_).bytes_per_second;
    const double peers = static_cast<double>(ranks_.size() - node.positions.size());
    std::map<int, double> users;
    for (int member : node.positions) ++users[nic_of(member)];
    for (const auto& [nic, count] : users) {
      builder_.cap(cluster_.nic_out(node.node, nic), count * peers * pair_rate);
      builder_.cap(cluster_.nic_in(node.node, nic), count * peers * pair_rate);
    }
  }

  // Evenly to the other nodes, so to another leaf by its part of them.
  void add_leaves() {
    if (cluster_.leaf_up(0) < 0) return;
    std::map<int, double> nodes_of_leaf;
    for (const NodeMembers& node : nodes_) ++nodes_of_leaf[cluster_.leaf_of(node.node)];
    const double others = static_cast<double>(nodes_.size()) - 1;
    for (const NodeMembers& node : nodes_) {
      const int leaf = cluster_.leaf_of(node.node);
      const double beyond = (static_cast<double>(nodes_.size()) - nodes_of_leaf[leaf]) / others;
      for (int member : node.positions) {
        builder_.add_link(cluster_.leaf_up(leaf), beyond * in_double(bytes_[member].sent_off_node));
        builder_.add_link(cluster_.leaf_down(leaf), beyond * in_double(bytes_[member].received_off_node));
      }
    }
  }

  const std::vector<int>& ranks_;
  const std::vector<RankBytes>& bytes_;
  const Cluster& cluster_;
  std::vector<NodeMembers> nodes_;
  CallShape call_;
  GroupShape shape_;
  LoadBuilder builder_;
};

}  // namespace

CallShape call_shape(const std::vector<int>& ranks, const std::vector<RankBytes>& bytes, const Cluster& cluster) {
  CallShape shape{CollectiveKind::all_to_all, group_shape(ranks, cluster), 0};
  for (const RankBytes& each : bytes)
    shape.bytes =
        std::max({shape.bytes, each.sent_in_node + each.sent_off_node, each.received_in_node + each.received_off_node});
  return shape;
}

CollectiveLoads expand_rank_bytes(const std::vector<int>& ranks, const std::vector<RankBytes>& bytes,
                                  const Cluster& cluster) {
  check_group(CollectiveKind::all_to_all, ranks, cluster);
  check_rank_bytes(ranks, bytes, cluster);
  if (ranks.size() < 2) return {{}, {}, false, "direct", ""};
  return Sums(ranks, bytes, cluster).loads();
}

}  // namespace shardsim
