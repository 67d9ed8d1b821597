#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

#include "plan/torchrec/search/planner_run.h"
#include "plan/torchrec/search/proposer.h"

namespace shardsim::torchrec {
namespace {

constexpr double kSlack = 1e-6;  // sums in another order than the partitioner's differ in their last bits

std::uint64_t mixed(std::uint64_t key) {
  return (key ^ (key >> 29)) * 0x9e3779b97f4a7c15ULL;
}

std::vector<ShardingOption> copies_of(const Proposal& proposal) {
  std::vector<ShardingOption> options;
  for (const ShardingOption* option : proposal) options.push_back(*option);
  return options;
}

// Places and rates proposals for a run and keeps the best. A proposal that was met before is not placed again.
//
// Large models make tens of thousands of proposals that differ in one table. Without RunSettings::count_plans those get
// no placement whose bytes exceed all ranks together, or that cannot be among the best. Results are those of placing
// every proposal.
class Evaluator {
 public:
  Evaluator(const RunSettings& settings, RunResult& result);

  void evaluate(const Proposal& proposal);
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
  void place(const Proposal& proposal, const Outlook& outlook);
  void keep(const Proposal& proposal, double rating);
  double worst_kept() const;  // a rating that is not better than this changes nothing

  const RunSettings& settings_;
  RunResult& result_;
  Partitioner partitioner_;
  Storage available_, largest_;  // of all ranks together; of the largest
  std::set<Key> seen_;
  Proposal failed_;  // the last one without a place whose reason is not known yet
};

Evaluator::Evaluator(const RunSettings& settings, RunResult& result)
    : settings_(settings),
      result_(result),
      partitioner_(settings.partitioner, result.space, result.reservation.topology),
      available_(capacity_of(result.reservation.topology)) {
  for (const Storage& device : result.reservation.topology.devices) {
    largest_ = {std::max(largest_.hbm, device.hbm), std::max(largest_.ddr, device.ddr)};
  }
}

// A shard larger than any rank, or a group larger than any host.
bool Evaluator::hopeless(const ShardingOption& option) const {
  if (!option.largest.fits_in(largest_)) return true;
  if (option.partition != PartitionBy::host) return false;
  const double ranks = settings_.topology.local_world_size;
  return static_cast<double>(option.total.hbm) > ranks * static_cast<double>(largest_.hbm) ||
         static_cast<double>(option.total.ddr) > ranks * static_cast<double>(largest_.ddr);
}

// No rank is done before the average of all, nor before what is spread evenly and the slowest other shard.
Evaluator::Outlook Evaluator::outlook_of(const Proposal& proposal) const {
  Outlook outlook;
  double all_ms = 0, even_ms = 0, slowest = 0;
  for (const ShardingOption* option : proposal) {
    outlook.key.first += option->key;
    outlook.key.second += mixed(option->key);
    outlook.total += option->total;
    outlook.too_large = outlook.too_large || hopeless(*option);
    all_ms += option->sum;
    if (option->partition != PartitionBy::uniform) slowest = std::max(slowest, option->depth);
    if (option->partition == PartitionBy::uniform && option->even_perf) even_ms += option->depth;
  }
  outlook.too_large = outlook.too_large || !outlook.total.fits_in(available_);
  outlook.least_rating = std::max(all_ms / settings_.topology.world_size, even_ms + slowest) * (1 - kSlack);
  return outlook;
}

void Evaluator::evaluate(const Proposal& proposal) {
  const Outlook outlook = outlook_of(proposal);
  if (!seen_.insert(outlook.key).second) return;
  ++result_.num_proposals;
  if (!settings_.count_plans && outlook.too_large) {
    result_.lowest = std::min(result_.lowest, outlook.total);
    if (!result_.found) failed_ = proposal;
  } else if (!settings_.count_plans && result_.found && outlook.least_rating > worst_kept()) {
    ++result_.num_untried;
  } else {
    place(proposal, outlook);
  }
}

double Evaluator::worst_kept() const {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  if (settings_.candidates == 0) return result_.found ? result_.rating : kAny;
  const auto wanted = static_cast<std::size_t>(settings_.candidates);
  return result_.candidates.size() < wanted ? kAny : result_.candidates.back().rating;
}

void Evaluator::place(const Proposal& proposal, const Outlook& outlook) {
  if (partitioner_.partition(proposal)) {
    ++result_.num_plans;
    return keep(proposal, perf_rating(proposal, partitioner_.assignment(), settings_.topology.world_size));
  }
  result_.lowest = std::min(result_.lowest, outlook.total);
  if (result_.found) return;
  failed_.clear();
  result_.last_error = partitioner_.failure();
  result_.last_proposal = copies_of(proposal);
}

void Evaluator::keep(const Proposal& proposal, double rating) {
  if (!(rating < worst_kept())) return;
  const Candidate candidate{copies_of(proposal), partitioner_.assignment(), rating};
  if (!result_.found || rating < result_.rating) {
    result_.found = true;
    result_.rating = rating;
    result_.plan = candidate.plan;
    result_.assignment = candidate.assignment;
  }
  if (settings_.candidates == 0) return;
  std::vector<Candidate>& kept = result_.candidates;
  kept.insert(std::ranges::upper_bound(kept, rating, {}, &Candidate::rating), candidate);
  if (kept.size() > static_cast<std::size_t>(settings_.candidates)) kept.pop_back();
}

void Evaluator::finish() {
  if (result_.found || failed_.empty()) return;
  partitioner_.partition(failed_);
  result_.last_error = partitioner_.failure();
  result_.last_proposal = copies_of(failed_);
}

std::unique_ptr<Proposer> make_proposer(ProposerKind kind, const RunResult& result, const RunSettings& settings) {
  const SearchSpace& space = result.space;
  switch (kind) {
    case ProposerKind::grid_search:
      return make_grid_search_proposer(space, settings.max_grid_proposals);
    case ProposerKind::greedy:
      return make_greedy_proposer(space, true);
    case ProposerKind::greedy_sum:
      return make_greedy_proposer(space, false);
    case ProposerKind::uniform:
      return make_uniform_proposer(space);
    case ProposerKind::dynamic_programming:
      return make_dynamic_programming_proposer(space, result.reservation.topology, settings.bins_per_device);
    case ProposerKind::embedding_offload_scaleup:
      break;
  }
  return make_offload_proposer(space, settings.topology, settings.estimate);
}

}  // namespace

void search(RunResult& result, const RunSettings& settings) {
  Evaluator evaluator(settings, result);
  std::vector<std::unique_ptr<Proposer>> proposers;  // own what their proposals point at
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds_gone = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (const ProposerKind kind : settings.proposers) {
    if (result.timed_out) break;
    proposers.push_back(make_proposer(kind, result, settings));
    while (const Proposal* proposal = proposers.back()->propose()) {
      result.timed_out = settings.timeout_seconds && seconds_gone() > *settings.timeout_seconds;
      if (result.timed_out) break;
      if (settings.check_stop) settings.check_stop();
      evaluator.evaluate(*proposal);
      proposers.back()->advance();
    }
  }
  evaluator.finish();
}

}  // namespace shardsim::torchrec
