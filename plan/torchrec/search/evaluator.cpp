#include "plan/torchrec/search/evaluator.h"

#include <algorithm>
#include <limits>

namespace shardsim::torchrec {
namespace {

std::vector<ShardingOption> copies_of(const Proposal& proposal) {
  std::vector<ShardingOption> options;
  for (const ShardingOption* option : proposal) options.push_back(*option);
  return options;
}

bool independent(const SearchSpace& space) {
  return std::all_of(space.tables.begin(), space.tables.end(),
                     [](const TableSpec& table) { return table.dependency.empty(); });
}

}  // namespace

Evaluator::Evaluator(const RunSettings& settings, RunResult& result)
    : settings_(settings),
      result_(result),
      partitioner_(make_partitioner(settings.partitioner, result.space, result.reservation.topology)),
      sums_(result.reservation.topology),
      prune_(!settings.rater && independent(result.space)) {}

// A proposer that wants ratings owns its options and changes them: nothing of its proposals is carried on.
Feedback Evaluator::evaluate(const Proposal& proposal, bool rating_wanted) {
  if (rating_wanted) sums_ = ProposalSums(result_.reservation.topology);
  sums_.follow(proposal);
  const auto [found, added] = seen_.try_emplace(sums_.key());
  Seen& seen = found->second;
  if (added) {
    ++result_.num_proposals;
    seen = judge(proposal, rating_wanted);
    result_.num_plans += seen.partitionable ? 1 : 0;
  } else if (rating_wanted && seen.partitionable && !seen.rating) {
    seen = place(proposal);
  }
  if (rating_wanted) sums_ = ProposalSums(result_.reservation.topology);
  return {seen.partitionable, seen.rating, &result_.reservation.topology};
}

Evaluator::Seen Evaluator::judge(const Proposal& proposal, bool rating_wanted) {
  if (!prune_ || rating_wanted) return place(proposal);
  if (sums_.surely_too_large()) {
    if (!result_.found) failed_ = proposal;
    result_.lowest = std::min(result_.lowest, sums_.total());
    return {};
  }
  if (!needs_no_rating(proposal)) return place(proposal);
  if (sums_.surely_fits(proposal)) return {true, std::nullopt};
  if (settings_.count_plans) return place(proposal);
  ++result_.num_untried;
  return {};
}

double Evaluator::worst_kept() const {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  if (settings_.candidates == 0) return result_.found ? result_.rating : kAny;
  const auto wanted = static_cast<std::size_t>(settings_.candidates);
  return result_.candidates.size() < wanted ? kAny : result_.candidates.back().rating;
}

bool Evaluator::needs_no_rating(const Proposal& proposal) const {
  return result_.found && sums_.least_rating(proposal) > worst_kept();
}

double Evaluator::rate(const Proposal& proposal) const {
  if (settings_.rater) return settings_.rater(proposal, partitioner_->assignment());
  return perf_rating(proposal, partitioner_->assignment(), settings_.topology.world_size);
}

Evaluator::Seen Evaluator::place(const Proposal& proposal) {
  if (!partitioner_->partition(proposal)) return no_place(proposal);
  const double rating = rate(proposal);
  keep(proposal, rating);
  return {true, rating};
}

Evaluator::Seen Evaluator::no_place(const Proposal& proposal) {
  result_.lowest = std::min(result_.lowest, total_storage(proposal));
  if (result_.found) return {};
  failed_.clear();
  result_.last_error = partitioner_->failure();
  result_.last_proposal = copies_of(proposal);
  return {};
}

void Evaluator::keep(const Proposal& proposal, double rating) {
  if (!(rating < worst_kept())) return;
  if (!result_.found || rating < result_.rating) {
    result_.found = true;
    result_.rating = rating;
    result_.plan = copies_of(proposal);
    result_.assignment = partitioner_->assignment();
  }
  if (settings_.candidates == 0) return;
  std::vector<Candidate>& kept = result_.candidates;
  const auto place = std::upper_bound(kept.begin(), kept.end(), rating,
                                      [](double value, const Candidate& other) { return value < other.rating; });
  kept.insert(place, {copies_of(proposal), partitioner_->assignment(), rating});
  if (kept.size() > static_cast<std::size_t>(settings_.candidates)) kept.pop_back();
}

void Evaluator::finish() {
  if (result_.found || failed_.empty()) return;
  partitioner_->partition(failed_);
  result_.last_error = partitioner_->failure();
  result_.last_proposal = copies_of(failed_);
}

}  // namespace shardsim::torchrec
