#include "sim/engine/node_classes.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <map>
#include <utility>

#include "base/rng.h"

namespace shardsim {
namespace {

using Signature = std::uint64_t;

constexpr std::uint64_t kFactor = 0xbf58476d1ce4e5b9ULL;  // that of mix(): odd, so that it loses no bit

Signature fold(Signature so_far, std::uint64_t next) {
  return mix(so_far ^ next, kGolden);
}
Signature fold(Signature so_far, double next) {
  return fold(so_far, std::bit_cast<std::uint64_t>(next));
}

// The properties that each node and leaf has by itself, without a look at its neighbours.
class Signatures {
 public:
  Signatures(const std::vector<OpWork>& works, const Cluster& cluster)
      : cluster_(cluster), nodes_(cluster.nodes(), 1), leaves_(std::max(cluster.leaves(), 1), 1) {
    for (const Link& link : cluster.links()) add(link, {link.rate.bytes_per_second});
    for (const OpWork& work : works) add(work);
    for (int node = 0; node < cluster.nodes(); ++node) {
      nodes_[node] = fold(nodes_[node], leaves_[cluster.leaf_of(node)]);
    }
  }

  std::vector<Signature> take_nodes() { return std::move(nodes_); }

 private:
  // Values are joined before they are folded in: a fold waits for the one before it, and a large world has a million of
  // loads.
  void add(const Link& link, std::initializer_list<double> values) {
    Signature& of = link.node >= 0 ? nodes_[link.node] : leaves_[link.leaf];
    auto joined = std::uint64_t(link.local);
    for (const double value : values) joined = (std::rotl(joined, 29) ^ std::bit_cast<std::uint64_t>(value)) * kFactor;
    of = fold(of, joined);
  }

  void add(const OpWork& work) {
    for (std::size_t rank = 0; rank < work.seconds.size(); ++rank) {
      Signature& of = nodes_[cluster_.node_of(static_cast<int>(rank))];
      of = fold(of, work.seconds[rank]);
    }
    for (const OpWork::Call& call : work.calls) add(call.loads);
    for (Signature& of : nodes_) of = fold(of, std::uint64_t{0xe0});  // an operation ends here
    for (Signature& of : leaves_) of = fold(of, std::uint64_t{0xe0});
  }

  void add(const CollectiveLoads& loads) {
    for (const LinkLoad& load : loads.loads) {
      add(cluster_.links()[load.link], {load.occupancy, load.cap.bytes_per_second, loads.start.value});
    }
  }

  const Cluster& cluster_;
  std::vector<Signature> nodes_;
  std::vector<Signature> leaves_;
};

std::size_t distinct(std::vector<Signature> signatures) {
  std::sort(signatures.begin(), signatures.end());
  return static_cast<std::size_t>(std::unique(signatures.begin(), signatures.end()) - signatures.begin());
}

// The rank sets of one group of the Program.
using RankSets = std::vector<OpWork::Call>;

bool same_ranks(const RankSets& a, const RankSets& b) {
  return std::ranges::equal(a, b, {}, &OpWork::Call::ranks, &OpWork::Call::ranks);
}

// Each group once, however many collectives it has: nodes are in the same sets in all of them.
std::vector<const RankSets*> groups_of(const std::vector<OpWork>& works) {
  std::vector<const RankSets*> groups;
  for (const OpWork& work : works) {
    const auto known = [&](const RankSets* group) { return same_ranks(*group, work.calls); };
    if (work.is_collective() && std::ranges::none_of(groups, known)) groups.push_back(&work.calls);
  }
  return groups;
}

// Nodes under one leaf share its links, whatever their groups.
void fold_leaf_mates(std::vector<Signature>& next, const std::vector<Signature>& old, const Cluster& cluster) {
  std::vector<Signature> mates(std::max(cluster.leaves(), 1), 0);
  for (int node = 0; node < cluster.nodes(); ++node) mates[cluster.leaf_of(node)] += mix(old[node], kGolden);
  for (int node = 0; node < cluster.nodes(); ++node) next[node] = fold(next[node], mates[cluster.leaf_of(node)]);
}

// Each node's signature joined with those of the nodes it meets in groups.
std::vector<Signature> refined(const std::vector<Signature>& old, const std::vector<const RankSets*>& groups,
                               const Cluster& cluster) {
  std::vector<Signature> next = old;
  fold_leaf_mates(next, old, cluster);
  std::vector<const OpWork::Call*> last_met(old.size(), nullptr);
  for (const RankSets* group : groups) {
    for (const OpWork::Call& set : *group) {
      Signature together = 1;
      for (int rank : set.ranks) {
        together = fold(fold(together, old[cluster.node_of(rank)]), std::uint64_t(cluster.gpu_of(rank)));
      }
      for (int rank : set.ranks) {
        const int node = cluster.node_of(rank);
        if (std::exchange(last_met[node], &set) != &set) next[node] = fold(next[node], together);
      }
    }
  }
  return next;
}

NodeClasses from_signatures(const std::vector<Signature>& signatures) {
  NodeClasses classes;
  std::map<Signature, int> first;
  for (int node = 0; node < static_cast<int>(signatures.size()); ++node) {
    classes.representative.push_back(first.emplace(signatures[node], node).first->second);
  }
  return classes;
}

// A set with a rank that is simulated must hold the stand-ins of all its members, or arrivals would be lost.
bool closed(const NodeClasses& classes, const std::vector<const RankSets*>& groups, const Cluster& cluster) {
  std::vector<const OpWork::Call*> set_of(cluster.world_size(), nullptr);
  for (const RankSets* group : groups) {
    for (const OpWork::Call& set : *group) {
      for (int rank : set.ranks) set_of[rank] = &set;
      const auto is_simulated = [&](int rank) { return classes.is_representative(cluster.node_of(rank)); };
      const auto is_met = [&](int rank) { return set_of[classes.stand_in(rank, cluster)] == &set; };
      if (std::ranges::any_of(set.ranks, is_simulated) && !std::ranges::all_of(set.ranks, is_met)) return false;
    }
  }
  return true;
}

}  // namespace

NodeClasses classify_nodes(const std::vector<OpWork>& works, const Cluster& cluster,
                           const std::vector<std::uint64_t>& marks) {
  std::vector<Signature> signatures = Signatures(works, cluster).take_nodes();
  for (std::size_t node = 0; node < marks.size(); ++node) signatures[node] = fold(signatures[node], marks[node]);
  const std::vector<const RankSets*> groups = groups_of(works);
  for (std::size_t classes = 0; classes != distinct(signatures);) {
    classes = distinct(signatures);
    signatures = refined(signatures, groups, cluster);
  }
  NodeClasses classes = from_signatures(signatures);
  if (closed(classes, groups, cluster)) return classes;
  for (int node = 0; node < cluster.nodes(); ++node) classes.representative[node] = node;
  return classes;
}

}  // namespace shardsim
