#pragma once

#include <memory>

#include "plan/torchrec/search/search_space.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// Suggests one option per table, again and again (planner/proposers.py).
class Proposer {
 public:
  virtual ~Proposer() = default;
  // The current proposal, valid until the next one; null: no more.
  const Proposal* propose() const { return done_ ? nullptr : &proposal_; }
  virtual void advance() = 0;

 protected:
  Proposal proposal_;
  bool done_ = false;
};

// `space` outlives them. `topology`: with the capacities left after reservations.
std::unique_ptr<Proposer> make_greedy_proposer(const SearchSpace& space, bool use_depth);
std::unique_ptr<Proposer> make_uniform_proposer(const SearchSpace& space, bool use_depth = true);
std::unique_ptr<Proposer> make_grid_search_proposer(const SearchSpace& space, double max_proposals = 10000);
std::unique_ptr<Proposer> make_dynamic_programming_proposer(const SearchSpace& space, const Topology& topology,
                                                            int bins_per_device = 100);
// EmbeddingOffloadScaleupProposer starts from the smallest caches, then spends what memory is left on larger ones by
// how often cached rows are missed. No workload says that, so this one proposes the start alone.
std::unique_ptr<Proposer> make_offload_proposer(const SearchSpace& space, const Topology& topology,
                                                const EstimateSettings& settings);

}  // namespace shardsim::torchrec
