#pragma once

#include <map>

#include "plan/torchrec/search/planner_run.h"

namespace shardsim::torchrec {

// Places and rates proposals for a run and keeps the best. A proposal that was met before is not placed again.
//
// Large models make tens of thousands of proposals that differ in one table. Without RunSettings::count_plans those get
// no placement whose bytes exceed all ranks together, or that cannot be among the best. Results are those of placing
// every proposal.
class Evaluator {
 public:
  Evaluator(const RunSettings& settings, RunResult& result);

  // The rating, where the proposal was placed.
  std::optional<double> evaluate(const Proposal& proposal);
  // Fills in what is only needed at the end: why the last proposal without a place had none.
  void finish();

 private:
  // Tells sets of options apart, whatever their order.
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  // What the options of a proposal alone tell of its placement.
  struct Outlook {
    Key key;
    Storage total;
    bool too_large = false;   // more bytes than all ranks have, or an option that not even empty ranks could hold
    double least_rating = 0;  // no placement rates better
  };

  Outlook outlook_of(const Proposal& proposal) const;
  bool hopeless(const ShardingOption& option) const;
  std::optional<double> judge(const Proposal& proposal, const Outlook& outlook);
  std::optional<double> place(const Proposal& proposal, const Outlook& outlook);
  void keep(const Proposal& proposal, double rating);
  double worst_kept() const;  // a rating that is not better than this changes nothing

  const RunSettings& settings_;
  RunResult& result_;
  Partitioner partitioner_;
  Storage available_, largest_;  // of all ranks together; of the largest
  std::map<Key, std::optional<double>> seen_;
  Proposal failed_;  // the last one without a place whose reason is not known yet
};

}  // namespace shardsim::torchrec
