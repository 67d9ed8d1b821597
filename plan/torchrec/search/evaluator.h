#pragma once

#include <unordered_map>

#include "plan/torchrec/search/planner_run.h"
#include "plan/torchrec/search/proposer.h"
#include "plan/torchrec/search/search_space.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// Tells sets of options apart, whatever their order.
struct ProposalKey {
  std::uint64_t sum = 0, mixed = 0;
  bool operator==(const ProposalKey&) const = default;
};
struct ProposalKeyHash {
  std::size_t operator()(const ProposalKey& key) const { return static_cast<std::size_t>(key.sum ^ key.mixed); }
};

// Sums over the options of a proposal, carried from one proposal to the next, and what they alone can tell about its
// placement.
class ProposalSums {
 public:
  explicit ProposalSums(const Topology& topology);

  void follow(const Proposal& proposal);
  const ProposalKey& key() const { return key_; }
  const Storage& total() const { return total_; }

  // More bytes than all ranks have, or an option that not even empty ranks could hold.
  bool surely_too_large() const;
  // Room for every shard, in whatever order they are placed: even if every rank were as full as it could be.
  bool surely_fits(const Proposal& proposal) const;
  // No placement rates better than this: the work of all ranks by average, and of the rank with the largest shard.
  double least_rating(const Proposal& proposal) const;

 private:
  bool hopeless(const ShardingOption& option) const;
  void count(const ShardingOption& option, int sign);

  int world_, hosts_, per_host_;
  Storage available_, smallest_, largest_;  // of all ranks together; of the smallest; of the largest
  Proposal last_;
  ProposalKey key_;
  Storage total_;
  int hopeless_ = 0;   // options of the proposal
  Storage even_most_;  // of evenly spread options on the fullest rank, at most
  double even_ms_ = 0, all_ms_ = 0;
};

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
