#include "models/collective/rank_bytes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <valarray>

#include "models/collective/channel_layout.h"
#include "models/collective/load_builder.h"

namespace shardsim {
namespace {

// Adds what the sums of an all-to-all put on each link.
class Sums {
 public:
  // `builder` is that of `call`, which these ranks make.
  Sums(const std::vector<int>& ranks, const std::vector<RankBytes>& bytes, const Cluster& cluster,
       const CallShape& call, LoadBuilder& builder)
      : ranks_(ranks),
        bytes_(bytes),
        cluster_(cluster),
        nodes_(members_by_node(ranks, cluster)),
        shape_(call.group),
        builder_(builder) {}

  void add() {
    for (const NodeMembers& node : nodes_) {
      add_in_node(node);
      if (shape_.across_nodes()) add_off_node(node);
    }
    if (shape_.across_nodes()) add_leaves();
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
  GroupShape shape_;
  LoadBuilder& builder_;
};

// The pairs of pairs_of_sums.
constexpr int kRounds = 50;
constexpr double kExact = 1e-12;  // of all bytes

using Numbers = std::valarray<double>;

class Fill {
 public:
  Fill(const std::vector<double>& sent, const std::vector<double>& received)
      : n_(sent.size()),
        sent_(sent),
        received_(received),
        total_(std::accumulate(sent.begin(), sent.end(), 0.0)),
        pairs_(1.0, n_ * n_) {
    for (std::size_t i = 0; i < n_; ++i) at(i, i) = 0;
  }

  std::vector<double> pairs() {
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < n_; ++i) scale(row(i), factor(sent_[i], sum(row(i))));
      if (columns_hold()) return {std::begin(pairs_), std::end(pairs_)};
      for (std::size_t j = 0; j < n_; ++j) scale(column(j), factor(received_[j], sum(column(j))));
    }
    for (std::size_t i = 0; i < n_; ++i) scale(row(i), std::min(1.0, factor(sent_[i], sum(row(i)))));
    add_rest();
    for (std::size_t i = 0; i < n_; ++i) clear_own(i);
    return {std::begin(pairs_), std::end(pairs_)};
  }

 private:
  double& at(std::size_t from, std::size_t to) { return pairs_[from * n_ + to]; }
  std::slice row(std::size_t from) const { return {from * n_, n_, 1}; }
  std::slice column(std::size_t to) const { return {to, n_, n_}; }
  double sum(const std::slice& some) { return Numbers(pairs_[some]).sum(); }
  void scale(const std::slice& some, double factor) { pairs_[some] *= Numbers(factor, n_); }
  static double factor(double wanted, double sum) { return sum > 0 ? wanted / sum : 0; }

  bool columns_hold() {
    for (std::size_t to = 0; to < n_; ++to)
      if (std::fabs(sum(column(to)) - received_[to]) > kExact * total_) return false;
    return true;
  }

  // Adds the bytes that rows and columns still lack, in proportion to both. Then the sums hold, with a few bytes from
  // members to themselves.
  void add_rest() {
    Numbers rows(n_), columns(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      rows[i] = std::max(0.0, sent_[i] - sum(row(i)));
      columns[i] = std::max(0.0, received_[i] - sum(column(i)));
    }
    const double rest = rows.sum();
    if (rest <= 0) return;
    for (std::size_t from = 0; from < n_; ++from)
      for (std::size_t to = 0; to < n_; ++to) at(from, to) += rows[from] * columns[to] / rest;
  }

  // Trades what a member sends to itself for bytes between the others: i to i and k to l become i to l and k to i. All
  // others together send each other that much or more, as i sends no more than they receive.
  void clear_own(std::size_t i) {
    double others = 0;
    for (std::size_t k = 0; k < n_; ++k)
      for (std::size_t l = 0; l < n_; ++l)
        if (k != i && l != i) others += at(k, l);
    const double share = std::min(1.0, factor(at(i, i), others));
    at(i, i) = 0;
    for (std::size_t k = 0; k < n_; ++k)
      for (std::size_t l = 0; l < n_; ++l) {
        if (k == i || l == i) continue;
        const double moved = at(k, l) * share;
        at(k, l) -= moved;
        at(i, l) += moved;
        at(k, i) += moved;
      }
  }

  std::size_t n_;
  const std::vector<double>& sent_;
  const std::vector<double>& received_;
  double total_;
  Numbers pairs_;  // by rows
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
  const CallShape call = call_shape(ranks, bytes, cluster);
  LoadBuilder builder(ranks, call, cluster);
  Sums(ranks, bytes, cluster, call, builder).add();
  return builder.exchange(call);
}

std::vector<double> pairs_of_sums(const std::vector<double>& sent, const std::vector<double>& received) {
  return Fill(sent, received).pairs();
}

}  // namespace shardsim
