#include <algorithm>
#include <numeric>

#include "sim/lower/fusion_group.h"

namespace shardsim {
namespace {

// The kind of item that an exchange sends, and the type in which it does.
struct Sent {
  CarriedPart what;
  Dtype type;
};

// Codecs of TorchRec (torchrec/distributed/fbgemm_qcomm_codec.py): a pass in front of each exchange reads vectors in
// the type of their table and writes them in that of the wire, another one behind it does the opposite.
class ConversionMaker {
 public:
  ConversionMaker(const FusionGroup& group, const std::vector<GroupMember>& members, int world, int per_node)
      : group_(group), members_(members), world_(world), per_node_(per_node) {
    if (group.strategy == Strategy::flex) sets_ = members.front().placement->holders;
    if (sets_.empty()) sets_ = {all_ranks(world)};
    size_ = static_cast<int>(sets_.front().size());
  }

  // `across`: of the exchange between nodes, where there is one. `owners_first`: from the owners of rows to the ranks
  // of the samples.
  FusionGroup::Conversions of(Sent what, Sent across, bool owners_first) const {
    const Sides sides = group_.reduces() ? of_sums(what, across) : of_vectors(what);
    FusionGroup::Conversions passes;
    passes.encode = owners_first ? sides.owner : sides.user;
    passes.decode = owners_first ? sides.user : sides.owner;
    passes.recode = sides.between;
    return passes;
  }

 private:
  // The passes of owners and of users read and write so much; between both exchanges, where there are two. Empty: none
  // does.
  struct Sides {
    std::vector<double> owner, user, between;
  };

  bool converts(Sent sent) const {
    return sent.type != Dtype::fp32 &&
           std::ranges::any_of(members_, [&](const GroupMember& member) { return member.table->dtype != sent.type; });
  }

  // In the type of the tables.
  std::vector<GroupMember> stored(CarriedPart what) const {
    std::vector<GroupMember> members = members_;
    for (GroupMember& member : members) (member.*what).bytes = member.row_bytes;
    return members;
  }

  Sides of_vectors(Sent sent) const {
    if (!converts(sent)) return {};
    Sides sides{zeros(), zeros(), {}};
    for (const std::vector<GroupMember>& members : {members_, stored(sent.what)}) {
      const ByteMatrix matrix = exchange_matrix(members, size_, sent.what);
      const std::vector<std::int64_t> asked = matrix.all_sent(size_), served = matrix.all_received(size_);
      for (const std::vector<int>& set : sets_) {
        for (std::size_t at = 0; at < set.size(); ++at) {
          sides.owner[static_cast<std::size_t>(set[at])] += static_cast<double>(served[at]);
          sides.user[static_cast<std::size_t>(set[at])] += static_cast<double>(asked[at]);
        }
      }
    }
    // Tables of almost no ids exchange nothing, and there is no pass over nothing.
    const auto moves = [](double bytes) { return bytes > 0; };
    return std::ranges::any_of(sides.owner, moves) ? sides : Sides{};
  }

  // A rank brings partial sums of all whom it serves, and gets its part of the sums of each node. Sums that cross nodes
  // come out of the codec of the node's exchange, and go into that of the other one.
  Sides of_sums(Sent what, Sent across) const {
    const bool crosses = group_.crosses() && world_ > per_node_, in_node = !group_.crosses() || per_node_ > 1;
    Sides sides;
    sides.owner = of_owners(in_node ? what : across, size_);
    sides.user = of_users(crosses ? across : what);
    if (!crosses || !in_node) return sides;
    const int nodes = world_ / per_node_;
    sides.between = of_owners(what, nodes);
    const std::vector<double> sent_on = of_owners(across, nodes);
    if (sides.between.empty()) sides.between = zeros();
    for (std::size_t rank = 0; rank < sent_on.size(); ++rank) sides.between[rank] += sent_on[rank];
    if (!converts(what) && !converts(across)) sides.between.clear();
    return sides;
  }

  // By the ranks that hold rows, which work on the vectors of `served` ranks.
  std::vector<double> of_owners(Sent sent, int served) const {
    if (!converts(sent)) return {};
    std::vector<double> bytes = zeros();
    for (const GroupMember& member : members_) {
      const int node = member.placement->holders.front().front() / per_node_;
      for (int rank = 0; rank < world_; ++rank) {
        const bool reduces = !group_.crosses() || rank / per_node_ == node;
        bytes[static_cast<std::size_t>(rank)] += reduces ? served * converted_bytes(member, sent) : 0;
      }
    }
    return bytes;
  }

  std::vector<double> of_users(Sent sent) const {
    if (!converts(sent)) return {};
    double bytes = 0;
    for (const GroupMember& member : members_) bytes += converted_bytes(member, sent);
    return std::vector<double>(static_cast<std::size_t>(world_), bytes);
  }

  // Vectors of one rank in both types.
  static double converted_bytes(const GroupMember& member, Sent sent) {
    const GroupMember::Carried& carried = member.*sent.what;
    return static_cast<double>(carried.count) * static_cast<double>(carried.bytes + member.row_bytes);
  }

  std::vector<double> zeros() const { return std::vector<double>(static_cast<std::size_t>(world_), 0.0); }

  const FusionGroup& group_;
  const std::vector<GroupMember>& members_;
  int world_, per_node_, size_ = 0;
  std::vector<std::vector<int>> sets_;
};

}  // namespace

void add_conversions(FusionGroup& group, const std::vector<GroupMember>& members, int world, int ranks_per_node) {
  const ConversionMaker maker(group, members, world, ranks_per_node);
  group.converted_output = maker.of({&GroupMember::forward, group.forward_type},
                                    {&GroupMember::cross_forward, group.cross_forward_type}, true);
  group.converted_gradient = maker.of({&GroupMember::backward, group.backward_type},
                                      {&GroupMember::cross_backward, group.cross_backward_type}, false);
}

}  // namespace shardsim
