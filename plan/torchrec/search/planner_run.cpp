#include "plan/torchrec/search/planner_run.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "plan/torchrec/search/evaluator.h"
#include "plan/torchrec/search/proposer.h"

namespace shardsim::torchrec {
namespace {

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
      return make_dynamic_programming_proposer(space, settings.bins_per_device);
    case ProposerKind::embedding_offload_scaleup:
      break;
  }
  return make_offload_scaleup_proposer(space, settings.topology, settings.estimate);
}

class Deadline {
 public:
  explicit Deadline(std::optional<double> seconds) : seconds_(seconds) {}
  bool passed() const {
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin_;
    return seconds_ && gone.count() > *seconds_;
  }

 private:
  std::optional<double> seconds_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void search(RunResult& result, const RunSettings& settings) {
  Evaluator evaluator(settings, result);
  std::vector<std::unique_ptr<Proposer>> proposers;
  for (const ProposerKind kind : settings.proposers) proposers.push_back(make_proposer(kind, result, settings));
  const Deadline deadline(settings.timeout_seconds);
  for (const auto& proposer : proposers) {
    while (const Proposal* proposal = proposer->propose()) {
      result.timed_out = deadline.passed();
      if (result.timed_out) break;
      if (settings.check_stop) settings.check_stop();
      proposer->feedback(evaluator.evaluate(*proposal, proposer->needs_rating()));
    }
  }
  evaluator.finish();
}

PlannerFailure failure_of(const RunResult& result) {
  Storage available;
  for (const Storage& device : result.reservation.topology.devices) available += device;
  return result.lowest.fits_in(available) ? PlannerFailure::strict_constraints : PlannerFailure::insufficient_storage;
}

}  // namespace

Proposal proposal_of(const std::vector<ShardingOption>& options) {
  Proposal proposal;
  for (const ShardingOption& option : options) proposal.push_back(&option);
  return proposal;
}

RunResult run_planner(const std::vector<ConstrainedTable>& tables, const RunSettings& settings) {
  RunResult result;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  result.lowest = {kMost, kMost};
  std::vector<TableSpec> specs;
  for (const ConstrainedTable& table : tables) specs.push_back(table.table);
  try {
    result.reservation = reserve(settings.reservation, settings.topology, specs, settings.estimate);
  } catch (const PlannerError& error) {
    if (error.failure() != PlannerFailure::insufficient_storage) throw;
    result.failure = error.failure();
    result.reason = error.what();
    return result;
  }
  result.space = enumerate_options(tables, settings.sharders, settings.topology, settings.estimate);
  result.found = result.space.options.empty();
  if (result.found) return result;
  search(result, settings);
  if (!result.found) result.failure = failure_of(result);
  return result;
}

}  // namespace shardsim::torchrec
