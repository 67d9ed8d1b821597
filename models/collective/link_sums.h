#pragma once

#include <vector>

#include "topology/graph/cluster.h"

namespace shardsim {

// One number for each link that a group of ranks can load: the links of all nodes from the group's first to its last
// one, and, if these are several nodes, the links of the fabric. A group inside a node so takes memory for the links of
// that node alone, and all such groups of a cluster together take as much as one group of all ranks. `cluster` outlives
// it.
class LinkSums {
 public:
  LinkSums(const std::vector<int>& ranks, const Cluster& cluster);

  LinkSums zeros() const;  // of the same links

  double& operator[](LinkId link) { return values_[place(link)]; }
  double operator[](LinkId link) const { return values_[place(link)]; }

  // visit(link, number) for all, by rising link id.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto at = static_cast<LinkId>(i);
      visit(at < of_nodes_ ? first_ + at : fabric_ + at - of_nodes_, values_[i]);
    }
  }

 private:
  std::size_t place(LinkId link) const {
    return static_cast<std::size_t>(link < fabric_ ? link - first_ : of_nodes_ + link - fabric_);
  }

  LinkId first_ = 0;   // of the first node
  int of_nodes_ = 0;   // links of the nodes
  LinkId fabric_ = 0;  // the first link that belongs to no node
  std::vector<double> values_;
};

}  // namespace shardsim
