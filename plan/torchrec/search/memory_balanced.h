#pragma once

#include "plan/torchrec/search/greedy_partitioner.h"

namespace shardsim::torchrec {

// MemoryBalancedPartitioner: the placement with the least memory on the fullest rank that is at most `tolerance` slower
// than the fastest one, by bisection of the memory that a rank may use.
class MemoryBalancedPartitioner : public Partitioner {
 public:
  MemoryBalancedPartitioner(const PartitionerSettings& settings, const SearchSpace& space, const Topology& topology);

  bool partition(const Proposal& proposal) override;
  const Assignment& assignment() const override { return best_; }
  const PlacementFailure& failure() const override { return greedy_.failure(); }

 private:
  void bisect(const Proposal& proposal);

  PartitionerSettings settings_;
  const Topology& topology_;
  GreedyPartitioner greedy_;
  Assignment best_;
};

}  // namespace shardsim::torchrec
