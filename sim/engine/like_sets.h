#pragma once

#include <string>
#include <vector>

#include "models/collective/collective.h"

namespace shardsim {

// Expands the rank sets of one collective one after the other. A set inside one node loads that node's links just as
// the set before it did its own, where it holds the like GPUs, moves the same bytes and the nodes' links have equal
// rates: then the loads are moved to its node, to the last bit what expanding it would give.
class LikeSets {
 public:
  LikeSets(const Cluster& cluster, std::string algorithm) : cluster_(cluster), algorithm_(std::move(algorithm)) {}

  CollectiveLoads expand(const CollectiveCall& call);

 private:
  bool like_the_last(const CollectiveCall& call) const;
  bool equal_rates(int node) const;
  CollectiveLoads moved_to(int node) const;

  const Cluster& cluster_;
  const std::string algorithm_;
  std::vector<int> ranks_;  // of the last set that was expanded inside one node; empty: none
  std::int64_t bytes_ = 0;
  CollectiveLoads loads_;
};

}  // namespace shardsim
