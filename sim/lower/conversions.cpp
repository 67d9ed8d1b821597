#include <algorithm>
#include <numeric>

#include "sim/lower/fusion_group.h"

namespace shardsim {
namespace {

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

  // `owners_first`: from the owners of rows to the ranks of the samples.
  FusionGroup::Conversions of(CarriedPart what, bool owners_first) const {
    FusionGroup::Conversions passes;
    if (!any(what)) return passes;
    const Sides sides = group_.reduces() ? of_sums(what) : of_vectors(what);
    passes.encode = owners_first ? sides.owner : sides.user;
    passes.decode = owners_first ? sides.user : sides.owner;
    const bool in_two = group_.crosses() && per_node_ > 1 && world_ > per_node_;
    if (in_two) passes.recode = sides.between;
    return passes;
  }

 private:
  // What the passes of owners and of users read and write; between both exchanges, where there are two.
  struct Sides {
    std::vector<double> owner, user, between;
  };

  bool any(CarriedPart what) const {
    const auto type = what == &GroupMember::forward ? group_.forward_type : group_.backward_type;
    return type != Dtype::fp32 &&
           std::ranges::any_of(members_, [&](const GroupMember& member) { return member.table->dtype != type; });
  }

  // In the type of the tables.
  std::vector<GroupMember> stored(CarriedPart what) const {
    std::vector<GroupMember> members = members_;
    for (GroupMember& member : members) (member.*what).bytes = member.row_bytes;
    return members;
  }

  Sides of_vectors(CarriedPart what) const {
    Sides sides{zeros(), zeros(), {}};
    for (const std::vector<GroupMember>& members : {members_, stored(what)}) {
      const ByteMatrix matrix = exchange_matrix(members, size_, what);
      const std::vector<std::int64_t> asked = matrix.all_sent(size_), served = matrix.all_received(size_);
      for (const std::vector<int>& set : sets_) {
        for (std::size_t at = 0; at < set.size(); ++at) {
          sides.owner[static_cast<std::size_t>(set[at])] += static_cast<double>(served[at]);
          sides.user[static_cast<std::size_t>(set[at])] += static_cast<double>(asked[at]);
        }
      }
    }
    return sides;
  }

  // A rank brings partial sums of all whom it serves, and gets its part of the sums of each node.
  Sides of_sums(CarriedPart what) const {
    Sides sides{zeros(), zeros(), {}};
    for (const GroupMember& member : members_) {
      const auto vectors = static_cast<double>((member.*what).count);
      const double bytes = vectors * static_cast<double>((member.*what).bytes + member.row_bytes);
      const int node = member.placement->holders.front().front() / per_node_;
      for (int rank = 0; rank < world_; ++rank) {
        const bool reduces = !group_.crosses() || rank / per_node_ == node;
        sides.owner[static_cast<std::size_t>(rank)] += reduces ? size_ * bytes : 0;
        sides.user[static_cast<std::size_t>(rank)] += bytes;
      }
    }
    for (const double bytes : sides.owner) sides.between.push_back(2 * bytes / per_node_);
    return sides;
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
  group.converted_output = maker.of(&GroupMember::forward, true);
  group.converted_gradient = maker.of(&GroupMember::backward, false);
}

}  // namespace shardsim
