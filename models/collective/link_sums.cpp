#include "models/collective/link_sums.h"

#include <algorithm>

namespace shardsim {

LinkSums::LinkSums(const std::vector<int>& ranks, const Cluster& cluster)
    : fabric_(cluster.on_node(0, cluster.nodes())) {
  if (ranks.empty()) return;
  const auto [lowest, highest] = std::ranges::minmax(ranks);
  const int from = cluster.node_of(lowest), to = cluster.node_of(highest);
  first_ = cluster.on_node(0, from);
  of_nodes_ = cluster.on_node(0, to + 1) - first_;
  const std::size_t shared = from == to ? 0 : cluster.links().size() - static_cast<std::size_t>(fabric_);
  values_.assign(static_cast<std::size_t>(of_nodes_) + shared, 0.0);
}

LinkSums LinkSums::zeros() const {
  LinkSums sums = *this;
  std::ranges::fill(sums.values_, 0.0);
  return sums;
}

}  // namespace shardsim
