#pragma once

#include <memory>
#include <optional>

#include "plan/torchrec/search/search_space.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// What became of a proposal.
struct Feedback {
  bool partitionable = false;
  std::optional<double> rating;        // absent where it found no place
  const Topology* topology = nullptr;  // with the reserved capacities
};

// Suggests one option per table, again and again (planner/proposers.py).
class Proposer {
 public:
  virtual ~Proposer() = default;
  // The current proposal, valid until the next feedback; null: no more.
  virtual const Proposal* propose() = 0;
  virtual void feedback(const Feedback& feedback) = 0;
  // False: feedback ignores the rating, so whoever evaluates may leave out what cannot be the best.
  virtual bool needs_rating() const { return false; }
};

// `space` outlives them.
// threshold: stop after more than so many ratings in a row that were no better; 0: never.
std::unique_ptr<Proposer> make_greedy_proposer(const SearchSpace& space, bool use_depth, int threshold = 0);
std::unique_ptr<Proposer> make_uniform_proposer(const SearchSpace& space, bool use_depth = true);
std::unique_ptr<Proposer> make_grid_search_proposer(const SearchSpace& space, double max_proposals = 10000);
std::unique_ptr<Proposer> make_dynamic_programming_proposer(const SearchSpace& space, int bins_per_device = 100);
std::unique_ptr<Proposer> make_offload_scaleup_proposer(const SearchSpace& space, const Topology& topology,
                                                        const EstimateSettings& settings);

}  // namespace shardsim::torchrec
