#include <algorithm>
#include <cmath>
#include <map>

#include "models/collective/byte_matrix.h"
#include "models/collective/channel_layout.h"
#include "models/collective/load_builder.h"

namespace shardsim {
namespace {

// Over an NVSwitch the channels of a pair of GPUs carry no more than their rate, so a port is busy at least as long as
// its slowest pair.
class PairChannels {
 public:
  PairChannels(const CallShape& shape, const CollectiveCall& call, const Cluster& cluster)
      : call_(call),
        cluster_(cluster),
        rate_(channel_rate_of(shape, cluster)),
        sums_({}, cluster),
        seconds_({}, cluster) {
    if (!rate_) return;
    sums_ = LinkSums(call.ranks, cluster);
    seconds_ = sums_.zeros();
  }

  void add(int from, int to, double bytes) {
    if (!rate_ || bytes <= 0) return;
    const int channels =
        channels_of_send(static_cast<std::int64_t>(bytes), static_cast<int>(call_.ranks.size()), cluster_.spec());
    const double alone = bytes / (channels * rate_->bytes_per_second);
    const int node = cluster_.node_of(from);
    for (LinkId of_first : cluster_.local_route(cluster_.gpu_of(from), cluster_.gpu_of(to)).links) {
      const LinkId link = cluster_.on_node(of_first, node);
      sums_[link] += bytes;
      seconds_[link] = std::max(seconds_[link], alone);
    }
  }

  void cap(LoadBuilder& builder) const {
    if (!rate_) return;
    seconds_.for_each([&](LinkId link, double seconds) {
      if (seconds > 0) builder.cap(link, sums_[link] / seconds);
    });
  }

 private:
  const CollectiveCall& call_;
  const Cluster& cluster_;
  std::optional<Bandwidth> rate_;  // of a channel; absent: no limit
  LinkSums sums_, seconds_;        // bytes of each port, and what its slowest pair takes
};

// One all-to-all, summed per port: the bytes between nodes are known from each rank's total less what stays in its
// node, so only pairs within a node (and within a leaf) are looked at one by one. With PXN what a rank sends goes to
// the GPU of its node that has the rail of the destination, and out of that GPU's NIC.
class Exchange {
 public:
  Exchange(const CollectiveCall& call, const Cluster& cluster, LoadBuilder& builder)
      : call_(call),
        cluster_(cluster),
        builder_(builder),
        members_(static_cast<int>(call.ranks.size())),
        nodes_(members_by_node(call.ranks, cluster)),
        pxn_(uses_pxn(cluster)),
        sent_(call.matrix->all_sent(members_)),
        received_(call.matrix->all_received(members_)),
        sent_off_node_(sent_),
        received_off_node_(received_) {
    for (const int rank : call.ranks) {
      node_.push_back(cluster.node_of(rank));
      rail_.push_back(cluster.nic_of(cluster.gpu_of(rank)));
    }
    if (nodes_.size() < 2) return;
    for (const NodeMembers& node : nodes_) senders_.emplace_back(node, cluster);
  }

  void add_pairs_in_nodes(PairChannels& channels) {
    for (const NodeMembers& node : nodes_)
      for (int from : node.positions)
        for (int to : node.positions) add_pair(from, to, channels);
  }

  void add_ports() {
    if (nodes_.size() < 2) return;
    builder_.note_latency(cluster_.spec().nics->latency);
    std::vector<int> rails;
    for (int i = 0; pxn_ && i < members_; ++i) rails.push_back(rail_of(i));
    const RailSums sums(*call_.matrix, std::move(rails), cluster_.nics_per_node());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      OffNodeBytes bytes;
      for (int member : nodes_[i].positions) {
        // Where the destination alone decides, all members of a node send the same to each rail.
        if (bytes.to_rails.empty() || !peer_decides(true)) bytes.to_rails = sent_to_rails(member, nodes_[i], sums);
        bytes.sent = static_cast<double>(sent_off_node_[member]);
        bytes.received = static_cast<double>(received_off_node_[member]);
        builder_.add_off_node(call_.ranks[member], senders_[i], bytes);
      }
    }
  }

  // Up what the ranks of a leaf send off it, down what they receive from beyond.
  void add_leaves() {
    std::map<int, std::vector<int>> leaves;
    for (int i = 0; i < members_; ++i) leaves[cluster_.leaf_of(node_of(i))].push_back(i);
    if (leaves.size() < 2) return;
    const int first = leaves.begin()->second.front(), last = leaves.rbegin()->second.front();
    builder_.note_latency(cluster_.route(call_.ranks[first], call_.ranks[last]).latency);
    if (cluster_.leaf_up(0) < 0) return;
    for (const auto& [leaf, inside] : leaves) add_leaf(leaf, inside);
  }

  // A NIC moves at most what the channels of its users' active peers move together.
  void cap_ports(double pair_rate, double efficiency) {
    if (nodes_.size() < 2) return;
    const NicSpec& nics = *cluster_.spec().nics;
    const double port_rate = nics.rate.bytes_per_second * std::max(1, nics.per_gpu);
    const double enough = std::ceil(port_rate * efficiency / pair_rate);
    if (enough <= 1) return;
    count_deciding();
    LinkSums peers(call_.ranks, cluster_);
    count_senders(enough, peers);
    count_receivers(enough, peers);
    peers.for_each([&](LinkId link, double count) {
      if (count > 0) builder_.cap(link, count * pair_rate);
    });
  }

 private:
  std::int64_t bytes(int from, int to) const { return call_.matrix->bytes_between(from, to, members_); }
  int node_of(int member) const { return node_[member]; }
  int rail_of(int member) const { return rail_[member]; }

  void add_pair(int from, int to, PairChannels& channels) {
    const std::int64_t amount = bytes(from, to);
    sent_off_node_[from] -= amount;
    received_off_node_[to] -= amount;
    if (from == to) return;
    builder_.add_local(call_.ranks[from], call_.ranks[to], static_cast<double>(amount));
    channels.add(call_.ranks[from], call_.ranks[to], static_cast<double>(amount));
  }

  std::vector<double> sent_to_rails(int member, const NodeMembers& node, const RailSums& sums) const {
    if (!pxn_) return {};
    std::vector<std::int64_t> sent = sums.sent_by(member);
    for (int peer : node.positions) sent[rail_of(peer)] -= bytes(member, peer);
    return {sent.begin(), sent.end()};
  }

  void add_leaf(int leaf, const std::vector<int>& inside) {
    std::int64_t up = 0, down = 0;
    for (int i : inside) {
      up += sent_[i];
      down += received_[i];
      for (int j : inside) {
        const std::int64_t stays = bytes(i, j);
        up -= stays;
        down -= stays;
      }
    }
    builder_.add_link(cluster_.leaf_up(leaf), static_cast<double>(up));
    builder_.add_link(cluster_.leaf_down(leaf), static_cast<double>(down));
  }

  // Peers on other nodes (of one rail; -1: all) that the member really exchanges bytes with; counting stops at
  // `enough`. An even spread gives what is left over to the members from the source on: these are looked at first, and
  // none beyond them where nobody else gets anything, for a few bytes among 100,000 ranks leave most pairs empty.
  double active_peers(int member, bool sending, int rail, double enough) const {
    if (peer_decides(sending)) return std::min(deciding_peers(member, rail), enough);
    const ByteMatrix& matrix = *call_.matrix;
    const bool few = matrix.kind == ByteMatrix::Kind::even && matrix.units[0] < members_;
    const int reach = few ? static_cast<int>(matrix.units[0]) : members_;
    const bool upwards = sending != matrix.transposed;
    double count = 0;
    for (int step = 0, peer = member; step < reach && count < enough; ++step, peer = neighbour(peer, upwards)) {
      if (node_of(peer) == node_of(member) || (rail >= 0 && rail_of(peer) != rail)) continue;
      if ((sending ? bytes(member, peer) : bytes(peer, member)) > 0) ++count;
    }
    return count;
  }

  int neighbour(int member, bool upwards) const {
    if (upwards) return member + 1 == members_ ? 0 : member + 1;
    return (member == 0 ? members_ : member) - 1;
  }

  // True when the peer alone decides whether a pair moves bytes: in a matrix by destination, the destination gets bytes
  // from every source or from none.
  bool peer_decides(bool sending) const {
    return call_.matrix->kind == ByteMatrix::Kind::by_destination && sending != call_.matrix->transposed;
  }

  std::size_t rails_and_all() const { return static_cast<std::size_t>(cluster_.nics_per_node()) + 1; }

  // Counts the members whom such a matrix gives bytes; for each node without its own.
  void count_deciding() {
    if (call_.matrix->kind != ByteMatrix::Kind::by_destination) return;
    const auto count = [&](int member, double by, double* counts) {
      if (call_.matrix->units[member] <= 0) return;
      counts[0] += by;
      counts[1 + rail_of(member)] += by;
    };
    std::vector<double> all(rails_and_all(), 0.0);
    for (int i = 0; i < members_; ++i) count(i, 1, all.data());
    place_of_node_.resize(members_);
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      deciding_.insert(deciding_.end(), all.begin(), all.end());
      for (const int position : nodes_[place].positions) {
        place_of_node_[position] = place;
        count(position, -1, &deciding_[place * rails_and_all()]);
      }
    }
  }

  // Of such members those on other nodes than this one's.
  double deciding_peers(int member, int rail) const {
    return deciding_[place_of_node_[member] * rails_and_all() + static_cast<std::size_t>(1 + rail)];
  }

  // Pairs of ranks behind each NIC that sends, [link]; counting stops at `enough`.
  void count_senders(double enough, LinkSums& peers) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const NodeMembers& node = nodes_[i];
      for (int member : node.positions) {
        if (sent_off_node_[member] <= 0) continue;
        for (int rail = pxn_ ? 0 : -1; rail < (pxn_ ? cluster_.nics_per_node() : 0); ++rail) {
          const int rank = call_.ranks[member], by = pxn_ ? senders_[i].of(rank, rail) : rank;
          double& count = peers[cluster_.nic_out(node.node, cluster_.nic_of(cluster_.gpu_of(by)))];
          if (count < enough) count += active_peers(member, true, rail, enough);
        }
      }
    }
  }

  void count_receivers(double enough, LinkSums& peers) const {
    for (int i = 0; i < members_; ++i) {
      double& count = peers[cluster_.nic_in(node_of(i), rail_of(i))];
      if (received_off_node_[i] > 0 && count < enough) count += active_peers(i, false, -1, enough);
    }
  }

  const CollectiveCall& call_;
  const Cluster& cluster_;
  LoadBuilder& builder_;
  int members_;
  std::vector<NodeMembers> nodes_;
  bool pxn_;
  std::vector<RailSenders> senders_;                             // of nodes_, where these are several
  std::vector<int> node_, rail_;                                 // by member: the search for peers asks again and again
  std::vector<std::int64_t> sent_, received_;                    // by member, own chunk included
  std::vector<std::int64_t> sent_off_node_, received_off_node_;  // by member
  // Of a matrix by destination: counts [node][1 + rail], those of all rails in front, and by member its node in nodes_.
  std::vector<double> deciding_;
  std::vector<std::size_t> place_of_node_;
};

void add_exchange(const CollectiveCall& call, const CallShape& shape, const Cluster& cluster, double pair_rate,
                  LoadBuilder& builder) {
  Exchange exchange(call, cluster, builder);
  PairChannels channels(shape, call, cluster);
  exchange.add_pairs_in_nodes(channels);
  channels.cap(builder);
  exchange.add_ports();
  exchange.add_leaves();
  if (pair_rate > 0) exchange.cap_ports(pair_rate, nic_efficiency(shape, cluster));
}

// Every member sends to the next one of the group, the last one to the first.
void add_shift(const CollectiveCall& call, const CallShape& shape, const Cluster& cluster, double pair_rate,
               LoadBuilder& builder) {
  PairChannels channels(shape, call, cluster);
  const double bytes = static_cast<double>(call.bytes);
  std::map<LinkId, int> pairs;
  for (std::size_t i = 0; i < call.ranks.size(); ++i) {
    const int from = call.ranks[i], to = call.ranks[(i + 1) % call.ranks.size()];
    if (cluster.node_of(from) == cluster.node_of(to)) {
      builder.add_local(from, to, bytes);
      channels.add(from, to, bytes);
      continue;
    }
    builder.add_across(from, to, bytes);
    ++pairs[cluster.nic_out(cluster.node_of(from), cluster.nic_of(cluster.gpu_of(from)))];
    ++pairs[cluster.nic_in(cluster.node_of(to), cluster.nic_of(cluster.gpu_of(to)))];
  }
  for (const auto& [link, count] : pairs) builder.cap(link, count * pair_rate);
  channels.cap(builder);
}

}  // namespace

// Every pair exchanges directly, all pairs at once (all_to_all, send_recv).
CollectiveLoads expand_direct(const CollectiveCall& call, const Cluster& cluster) {
  const CallShape shape = call_shape(call, cluster);
  LoadBuilder builder(call.ranks, shape, cluster);
  const bool across = shape.group.across_nodes();
  const double pair_rate = across ? remote_pair_rate(shape.group, cluster).bytes_per_second : 0;
  if (call.kind == CollectiveKind::send_recv) {
    add_shift(call, shape, cluster, pair_rate, builder);
  } else {
    add_exchange(call, shape, cluster, pair_rate, builder);
  }
  return builder.exchange(shape);
}

}  // namespace shardsim
