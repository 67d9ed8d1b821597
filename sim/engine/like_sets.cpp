#include "sim/engine/like_sets.h"

#include <algorithm>

namespace shardsim {
namespace {

bool in_one_node(const std::vector<int>& ranks, const Cluster& cluster) {
  return std::ranges::all_of(ranks, [&](int rank) { return cluster.node_of(rank) == cluster.node_of(ranks.front()); });
}

}  // namespace

CollectiveLoads LikeSets::expand(const CollectiveCall& call) {
  if (like_the_last(call)) return moved_to(cluster_.node_of(call.ranks.front()));
  CollectiveLoads loads = expand_collective(call, cluster_, algorithm_);
  ranks_.clear();
  if (!in_one_node(call.ranks, cluster_)) return loads;
  ranks_ = call.ranks;
  bytes_ = call.bytes;
  loads_ = loads;
  return loads;
}

bool LikeSets::like_the_last(const CollectiveCall& call) const {
  if (ranks_.empty() || call.ranks.size() != ranks_.size() || call.bytes != bytes_) return false;
  const int apart = call.ranks.front() - ranks_.front();
  if (apart % cluster_.ranks_per_node() != 0) return false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (call.ranks[i] - ranks_[i] != apart) return false;
  }
  const int node = cluster_.node_of(call.ranks.front());
  return call.ranks.front() >= 0 && node < cluster_.nodes() && equal_rates(node);
}

bool LikeSets::equal_rates(int node) const {
  const int other = cluster_.node_of(ranks_.front());
  const LinkId end = cluster_.on_node(0, node + 1);
  for (LinkId link = cluster_.on_node(0, node), like = cluster_.on_node(0, other); link < end; ++link, ++like) {
    if (cluster_.links()[link].rate != cluster_.links()[like].rate) return false;
  }
  return true;
}

CollectiveLoads LikeSets::moved_to(int node) const {
  CollectiveLoads moved = loads_;
  const LinkId further = cluster_.on_node(0, node) - cluster_.on_node(0, cluster_.node_of(ranks_.front()));
  for (LinkLoad& load : moved.loads) load.link += further;
  return moved;
}

}  // namespace shardsim
