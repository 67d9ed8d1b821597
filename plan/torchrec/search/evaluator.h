#pragma once

#include <unordered_map>

#include "plan/torchrec/search/planner_run.h"
#include "plan/torchrec/search/proposal_sums.h"
#include "plan/torchrec/search/proposer.h"

namespace shardsim::torchrec {

// Places and rates proposals for a run and keeps the best. A proposal that was met before is not placed again.
//
// Large models make tens of thousands of proposals that differ in one table. What needs no placement gets none: a
// proposal whose bytes exceed all ranks together cannot be placed, and one that surely can be placed but cannot be
// among the best needs no rating, unless its proposer wants one. Counts and results are those of placing every
// proposal; without RunSettings::count_plans only the results are.
class Evaluator {
 public:
  Evaluator(const RunSettings& settings, RunResult& result);

  Feedback evaluate(const Proposal& proposal, bool rating_wanted);
  // Fills in what is only needed at the end: why the last proposal without a place had none.
  void finish();

 private:
  struct Seen {
    bool partitionable = false;
    std::optional<double> rating;
  };

  Seen judge(const Proposal& proposal, bool rating_wanted);
  Seen place(const Proposal& proposal);
  Seen no_place(const Proposal& proposal);
  bool needs_no_rating(const Proposal& proposal) const;
  double rate(const Proposal& proposal) const;
  void keep(const Proposal& proposal, double rating);
  double worst_kept() const;  // a rating that is not better than this changes nothing

  const RunSettings& settings_;
  RunResult& result_;
  std::unique_ptr<Partitioner> partitioner_;
  std::unordered_map<ProposalKey, Seen, ProposalKeyHash> seen_;
  ProposalSums sums_;
  bool prune_ = true;
  Proposal failed_;  // the last one without a place whose reason is not known yet
};

}  // namespace shardsim::torchrec
