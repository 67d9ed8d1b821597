#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "models/collective/channel_layout.h"
#include "models/collective/rank_bytes.h"

namespace shardsim {
namespace {

// A sum of bytes sent, and one of bytes received.
struct Both {
  double sent = 0, received = 0;
};

class Check {
 public:
  Check(const std::vector<int>& ranks, const std::vector<RankBytes>& bytes, const Cluster& cluster,
        const RankBytesPlaces& places)
      : ranks_(ranks), bytes_(bytes), cluster_(cluster), places_(places), nodes_(members_by_node(ranks, cluster)) {}

  void run() const {
    const Both inside = sum(&RankBytes::sent_in_node, &RankBytes::received_in_node);
    const Both between = sum(&RankBytes::sent_off_node, &RankBytes::received_off_node);
    if (inside.sent + between.sent > kMostExactBytes || inside.received + between.received > kMostExactBytes)
      throw input_error(places_.whole, "the sums are above 2^53 bytes", "Check their unit");
    for (const NodeMembers& node : nodes_) check_in_node(node);
    check_between(between);
    for (std::size_t member = 0; member < bytes_.size(); ++member) check_rails_of(member);
    const bool rails = std::ranges::none_of(bytes_, [](const RankBytes& entry) { return entry.sent_to_rail.empty(); });
    for (int rail = 0; rails && rail < cluster_.nics_per_node(); ++rail) check_rail(rail);
  }

 private:
  using Field = std::int64_t RankBytes::*;

  const Place& place_of(std::size_t member) const {
    return member < places_.each.size() ? places_.each[member] : places_.whole;
  }

  Both sum(Field sent, Field received) const {
    Both both;
    for (const RankBytes& entry : bytes_)
      both.sent += in_double(entry.*sent), both.received += in_double(entry.*received);
    return both;
  }

  Both sum(const NodeMembers& node, Field sent, Field received) const {
    Both both;
    for (int member : node.positions)
      both.sent += in_double(bytes_[member].*sent), both.received += in_double(bytes_[member].*received);
    return both;
  }

  void check_in_node(const NodeMembers& node) const {
    const Both all = sum(node, &RankBytes::sent_in_node, &RankBytes::received_in_node);
    if (all.sent != all.received)
      throw input_error(places_.whole,
                        fmt::format("the bytes sent and received inside node {} differ: {:.0f} and {:.0f} bytes",
                                    node.node, all.sent, all.received),
                        "Make sent_in_node and received_in_node add up to the same in every node");
    for (int member : node.positions) {
      const double others = all.received - in_double(bytes_[member].received_in_node);
      if (in_double(bytes_[member].sent_in_node) <= others) continue;
      throw input_error(place_of(member),
                        fmt::format("rank {} sends {} bytes inside node {}, where the other ranks receive {:.0f}",
                                    ranks_[member], bytes_[member].sent_in_node, node.node, others),
                        "Leave out what a rank keeps, or correct what the others receive");
    }
  }

  void check_between(const Both& all) const {
    if (all.sent != all.received)
      throw input_error(places_.whole,
                        fmt::format("the bytes sent and received between the nodes differ: {:.0f} and {:.0f} bytes",
                                    all.sent, all.received),
                        "Make sent_off_node and received_off_node add up to the same");
    for (const NodeMembers& node : nodes_) {
      const Both own = sum(node, &RankBytes::sent_off_node, &RankBytes::received_off_node);
      if (own.received <= all.sent - own.sent) continue;
      throw input_error(places_.whole,
                        fmt::format("node {} receives {:.0f} bytes from other nodes, and those send {:.0f} in all",
                                    node.node, own.received, all.sent - own.sent),
                        "Count bytes between ranks of one node as sent_in_node and received_in_node");
    }
  }

  void check_rails_of(std::size_t member) const {
    const RankBytes& entry = bytes_[member];
    if (entry.sent_to_rail.empty()) return;
    if (static_cast<int>(entry.sent_to_rail.size()) != cluster_.nics_per_node())
      throw input_error(place_of(member), fmt::format("{} rails", entry.sent_to_rail.size()),
                        fmt::format("Give one for each of the {} NICs of a node", cluster_.nics_per_node()));
    double sum = 0;
    for (std::int64_t bytes : entry.sent_to_rail) sum += in_double(bytes);
    if (sum != in_double(entry.sent_off_node))
      throw input_error(place_of(member),
                        fmt::format("the rails of rank {} add up to {:.0f} bytes, but it sends {} to other nodes",
                                    ranks_[member], sum, entry.sent_off_node),
                        "Make them equal");
  }

  // Sent to a rail by the members of a node, received from it by those that have its NIC.
  Both on_rail(int rail, const NodeMembers& node) const {
    Both both;
    for (int member : node.positions) {
      both.sent += in_double(bytes_[member].sent_to_rail[rail]);
      if (cluster_.nic_of(cluster_.gpu_of(ranks_[member])) == rail)
        both.received += in_double(bytes_[member].received_off_node);
    }
    return both;
  }

  void check_rail(int rail) const {
    std::vector<Both> of_node;
    Both all;
    for (const NodeMembers& node : nodes_) {
      of_node.push_back(on_rail(rail, node));
      all.sent += of_node.back().sent, all.received += of_node.back().received;
    }
    if (all.sent != all.received)
      throw input_error(places_.whole,
                        fmt::format("{:.0f} bytes are sent to rail {}, and the ranks that have its NIC receive {:.0f}",
                                    all.sent, rail, all.received),
                        fmt::format("Make rail_{} add up to their received_off_node", rail));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (of_node[i].received <= all.sent - of_node[i].sent) continue;
      throw input_error(places_.whole,
                        fmt::format("node {} receives {:.0f} bytes on rail {}, and the other nodes send {:.0f} to it",
                                    nodes_[i].node, of_node[i].received, rail, all.sent - of_node[i].sent),
                        fmt::format("Correct rail_{}, or what the ranks there receive", rail));
    }
  }

  const std::vector<int>& ranks_;
  const std::vector<RankBytes>& bytes_;
  const Cluster& cluster_;
  const RankBytesPlaces& places_;
  std::vector<NodeMembers> nodes_;
};

}  // namespace

void check_rank_bytes(const std::vector<int>& ranks, const std::vector<RankBytes>& bytes, const Cluster& cluster,
                      const RankBytesPlaces& places) {
  if (bytes.size() != ranks.size())
    throw input_error(places.whole, fmt::format("{} entries for {} ranks", bytes.size(), ranks.size()),
                      "Give one per member");
  Check(ranks, bytes, cluster, places).run();
}

}  // namespace shardsim
