#include "plan/torchrec/evaluator.h"

#include <algorithm>

namespace shardsim::torchrec {
namespace {

constexpr double kSlack = 1e-6;  // relative; sums kept over many proposals drift in their last bits

}  // namespace

Evaluator::Evaluator(const RunSettings& settings, RunResult& result)
    : settings_(settings),
      result_(result),
      partitioner_(make_partitioner(settings.partitioner, result.space, result.reservation.topology)) {}

Feedback Evaluator::evaluate(const Proposal& proposal, bool rating_wanted) {
  follow(proposal);
  Seen& seen = seen_[sums_.key];
  const bool known = seen.rated;
  if (!known) {
    ++result_.num_proposals;
    seen = place(proposal);
    seen.rated = true;
  }
  (void)rating_wanted;
  return {seen.partitionable, seen.partitionable ? std::optional(seen.rating) : std::nullopt,
          &result_.reservation.topology};
}

void Evaluator::Sums::add(const ShardingOption& option, int) {
  key.sum += option.key;
  key.mixed += (option.key ^ (option.key >> 29)) * 0x9e3779b97f4a7c15ULL;
}

void Evaluator::follow(const Proposal& proposal) {
  sums_ = {};
  for (const ShardingOption* option : proposal) sums_.add(*option, 1);
}

double Evaluator::rate(const Proposal& proposal) const {
  if (settings_.rater) return settings_.rater(proposal, partitioner_->assignment());
  return perf_rating(proposal, partitioner_->assignment(), settings_.topology.world_size);
}

Evaluator::Seen Evaluator::place(const Proposal& proposal) {
  const Storage total = total_storage(proposal);
  if (!partitioner_->partition(proposal)) {
    result_.lowest = std::min(result_.lowest, total);
    result_.last_error = partitioner_->failure();
    result_.last_proposal.clear();
    for (const ShardingOption* option : proposal) result_.last_proposal.push_back(*option);
    return {false, false, 0};
  }
  result_.lowest = std::min(result_.lowest, total);
  ++result_.num_plans;
  const double rating = rate(proposal);
  if (!result_.found || rating < result_.rating) keep_best(proposal, rating);
  return {true, false, rating};
}

void Evaluator::keep_best(const Proposal& proposal, double rating) {
  result_.found = true;
  result_.rating = rating;
  result_.plan.clear();
  for (const ShardingOption* option : proposal) result_.plan.push_back(*option);
  result_.assignment = partitioner_->assignment();
}

void Evaluator::finish() {}

}  // namespace shardsim::torchrec
