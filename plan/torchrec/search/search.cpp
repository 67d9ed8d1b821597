#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
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

// Sums over the options of a proposal. Most proposals differ from the one before in a single table: the sums follow,
// for to look at all options of all proposals takes the square of the number of tables. Options live as long as the
// proposers, which the search keeps to its end.
class RunningSums {
 public:
  using Judge = std::function<bool(const ShardingOption&)>;
  explicit RunningSums(Judge is_hopeless) : is_hopeless_(std::move(is_hopeless)) {}

  void follow(const Proposal& proposal) {
    // After as many changes as there are options the sums are computed anew, which clears the rounding errors in them.
    if (proposal.size() != last_.size() || changes_ >= proposal.size()) return start(proposal);
    constexpr std::size_t kBlock = 512;  // options that are compared at once, as bytes
    for (std::size_t begin = 0; begin < proposal.size(); begin += kBlock) {
      const std::size_t end = std::min(begin + kBlock, proposal.size());
      const ShardingOption* const* const block = proposal.data() + begin;
      if (!std::equal(block, proposal.data() + end, last_.data() + begin)) follow(proposal, begin, end);
    }
  }

  std::uint64_t keys = 0, mixed_keys = 0;
  Storage total;
  std::int64_t hopeless = 0;  // options that not even empty ranks could hold
  double all_ms = 0, even_ms = 0;
  double slowest() const { return depths_.empty() ? 0 : std::max(0.0, *depths_.rbegin()); }

 private:
  void follow(const Proposal& proposal, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (proposal[i] == last_[i]) continue;
      add(*last_[i], -1);
      add(*proposal[i], 1);
      last_[i] = proposal[i];
      ++changes_;
    }
  }

  void start(const Proposal& proposal) {
    keys = mixed_keys = 0;
    total = {};
    hopeless = 0;
    all_ms = even_ms = 0;
    depths_.clear();
    for (const ShardingOption* option : proposal) add(*option, 1);
    last_ = proposal;
    changes_ = 0;
  }

  // Adds the option, or takes it away where `sign` is -1.
  void add(const ShardingOption& option, int sign) {
    keys += static_cast<std::uint64_t>(sign) * option.key;
    mixed_keys += static_cast<std::uint64_t>(sign) * mixed(option.key);
    total += {sign * option.total.hbm, sign * option.total.ddr, sign * option.total.ssd};
    hopeless += is_hopeless_(option) ? sign : 0;
    all_ms += sign * option.sum;
    if (option.partition == PartitionBy::uniform && option.even_perf) even_ms += sign * option.depth;
    if (option.partition == PartitionBy::uniform) return;
    if (sign > 0) {
      depths_.insert(option.depth);
    } else if (const auto found = depths_.find(option.depth); found != depths_.end()) {
      depths_.erase(found);
    }
  }

  Judge is_hopeless_;
  Proposal last_;
  std::size_t changes_ = 0;
  std::multiset<double> depths_;  // of the options that are not spread evenly
};

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
  bool cannot_be_better(const Proposal& proposal) const;
  double least_rating_of(const Proposal& proposal) const;
  bool hopeless(const ShardingOption& option) const;
  void place(const Proposal& proposal);
  void keep(const Proposal& proposal, double rating);
  double worst_kept() const;  // a rating that is not better than this changes nothing

  const RunSettings& settings_;
  RunResult& result_;
  Partitioner partitioner_;
  Storage available_, largest_;  // of all ranks together; of the largest
  RunningSums sums_;
  std::set<Key> seen_;
  Proposal failed_;  // the last one without a place whose reason is not known yet
};

PartitionerSettings partitioner_of(const RunSettings& settings) {
  PartitionerSettings partitioner = settings.partitioner;
  partitioner.key_value_columns_apart = settings.estimate.version == PlannerVersion::v2026_08;
  return partitioner;
}

Evaluator::Evaluator(const RunSettings& settings, RunResult& result)
    : settings_(settings),
      result_(result),
      partitioner_(partitioner_of(settings), result.space, result.reservation.topology),
      available_(capacity_of(result.reservation.topology)),
      sums_([this](const ShardingOption& option) { return hopeless(option); }) {
  for (const Storage& device : result.reservation.topology.devices) {
    largest_ = {std::max(largest_.hbm, device.hbm), std::max(largest_.ddr, device.ddr),
                std::max(largest_.ssd, device.ssd)};
  }
}

// A shard larger than any rank, or a group larger than any host.
bool Evaluator::hopeless(const ShardingOption& option) const {
  if (!option.largest.fits_in(largest_)) return true;
  if (option.partition != PartitionBy::host) return false;
  const double ranks = settings_.topology.group_size();
  const auto exceeds = [ranks](std::int64_t bytes, std::int64_t most) {
    return static_cast<double>(bytes) > ranks * static_cast<double>(most);
  };
  return exceeds(option.total.hbm, largest_.hbm) || exceeds(option.total.ddr, largest_.ddr) ||
         exceeds(option.total.ssd, largest_.ssd);
}

// No placement of the proposal rates better: no rank is done before the average of all, nor before what is spread
// evenly and the slowest other shard.
double Evaluator::least_rating_of(const Proposal& proposal) const {
  double all_ms = 0, even_ms = 0, slowest = 0;
  for (const ShardingOption* option : proposal) {
    all_ms += option->sum;
    if (option->partition != PartitionBy::uniform) slowest = std::max(slowest, option->depth);
    if (option->partition == PartitionBy::uniform && option->even_perf) even_ms += option->depth;
  }
  return std::max(all_ms / settings_.topology.world_size, even_ms + slowest) * (1 - kSlack);
}

// The running sums are rounded in another order: what they leave open, the options say.
bool Evaluator::cannot_be_better(const Proposal& proposal) const {
  constexpr double kMargin = 1e-4;
  const double about = std::max(sums_.all_ms / settings_.topology.world_size, sums_.even_ms + sums_.slowest());
  const double worst = worst_kept();
  const bool known = std::isfinite(sums_.all_ms) && std::isfinite(sums_.even_ms);
  if (known && about * (1 - kMargin) > worst) return true;
  if (known && about * (1 + kMargin) < worst) return false;
  return least_rating_of(proposal) > worst;
}

void Evaluator::evaluate(const Proposal& proposal) {
  sums_.follow(proposal);
  if (!seen_.insert({sums_.keys, sums_.mixed_keys}).second) return;
  ++result_.num_proposals;
  const bool too_large = sums_.hopeless > 0 || !sums_.total.fits_in(available_);
  if (!settings_.count_plans && too_large) {
    result_.lowest = std::min(result_.lowest, sums_.total);
    if (!result_.found) failed_ = proposal;
  } else if (!settings_.count_plans && result_.found && cannot_be_better(proposal)) {
    ++result_.num_untried;
  } else {
    place(proposal);
  }
}

double Evaluator::worst_kept() const {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  if (settings_.candidates == 0) return result_.found ? result_.rating : kAny;
  const auto wanted = static_cast<std::size_t>(settings_.candidates);
  return result_.candidates.size() < wanted ? kAny : result_.candidates.back().rating;
}

void Evaluator::place(const Proposal& proposal) {
  if (partitioner_.partition(proposal)) {
    ++result_.num_plans;
    return keep(proposal, perf_rating(proposal, partitioner_.assignment(), settings_.topology.world_size));
  }
  result_.lowest = std::min(result_.lowest, sums_.total);
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
