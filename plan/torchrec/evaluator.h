#pragma once

#include <unordered_map>

#include "plan/torchrec/planner_run.h"
#include "plan/torchrec/proposer.h"

namespace shardsim::torchrec {

// Places and rates proposals for a run and keeps the best. A proposal that was met before is not placed again.
//
// Large models make tens of thousands of proposals that differ in one table. What needs no placement gets none: a
// proposal whose bytes exceed all ranks together cannot be placed, and one that surely can be placed but cannot beat
// the best so far needs no rating, unless its proposer wants it. Counts and results are those of placing every one.
class Evaluator {
 public:
  Evaluator(const RunSettings& settings, RunResult& result);

  Feedback evaluate(const Proposal& proposal, bool rating_wanted);
  // Fills in what is only needed at the end: why the last proposal without a place had none.
  void finish();

 private:
  struct Key {
    std::uint64_t sum = 0, mixed = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key.sum ^ key.mixed); }
  };
  struct Seen {
    bool partitionable = false, rated = false;
    double rating = 0;
  };
  // Sums over the options of a proposal, kept from one proposal to the next.
  struct Sums {
    Key key;
    Storage total, even;                      // over all shards; of evenly spread options
    double even_ms = 0;                       // work of every rank from evenly spread options
    double other_ms = 0;                      // over all shards of the other options
    std::int64_t host_hbm = 0, host_ddr = 0;  // see surely_placed
    void add(const ShardingOption& option, int sign);
  };

  void follow(const Proposal& proposal);
  bool surely_too_large() const;
  bool surely_placed(const Proposal& proposal) const;
  bool surely_worse(const Proposal& proposal) const;
  Seen judge(const Proposal& proposal, bool rating_wanted);
  Seen place(const Proposal& proposal);
  Seen no_place(const Proposal& proposal);
  void keep_best(const Proposal& proposal, double rating);
  double rate(const Proposal& proposal) const;

  const RunSettings& settings_;
  RunResult& result_;
  std::unique_ptr<Partitioner> partitioner_;
  std::unordered_map<Key, Seen, KeyHash> seen_;
  Proposal last_;  // the proposal that sums_ are of
  Sums sums_;
  Storage available_, smallest_;  // all ranks together; the least capacities of a rank
  bool prune_ = true;
  std::vector<ShardingOption> last_failed_;
  bool failure_known_ = true;
};

}  // namespace shardsim::torchrec
