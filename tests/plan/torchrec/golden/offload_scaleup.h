#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "plan/torchrec/search/search_space.h"

namespace shardsim::golden {

// A proposer that goes on by how its proposals were rated.
class RatedProposer {
 public:
  virtual ~RatedProposer() = default;
  // The current proposal, valid until the next feedback; null: no more.
  const torchrec::Proposal* propose() const { return done_ ? nullptr : &proposal_; }
  // `rating` of the current proposal: absent where it found no place.
  virtual void feedback(std::optional<double> rating) = 0;

 protected:
  torchrec::Proposal proposal_;
  bool done_ = false;
};

// TorchRec's GreedyProposer stops after more than `threshold` ratings in a row that were no better; 0: never.
class EarlyStop {
 public:
  explicit EarlyStop(int threshold) : threshold_(threshold) {}

  bool after(std::optional<double> rating) {
    if (threshold_ == 0 || rating.value_or(0) == 0) return false;
    inferior_ = *rating < best_ ? 0 : inferior_ + 1;
    best_ = std::min(best_, *rating);
    return inferior_ > threshold_;
  }

 private:
  int threshold_, inferior_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
};

// EmbeddingOffloadScaleupProposer as a whole, for tables of which it is known how often their cached rows are missed.
std::unique_ptr<RatedProposer> make_offload_scaleup_proposer(const torchrec::SearchSpace& space,
                                                             const torchrec::Topology& topology,
                                                             const torchrec::EstimateSettings& settings);

std::int64_t total_hbm(const torchrec::Proposal& proposal);

}  // namespace shardsim::golden
