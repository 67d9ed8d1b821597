#include <algorithm>

#include "plan/autoshard/trainer.h"

namespace shardsim {

bool has_cost_model(const PolicyTraining& training) {
  return std::ranges::find(training.without, kCostModelPart) == training.without.end();
}

int updates_made(const PolicyTraining& training) {
  return training.stop_after > 0 ? std::min(training.stop_after, training.updates) : training.updates;
}

// Standardised are those features that AutoShard's code standardises.
ShardingPolicy untrained_policy(const std::vector<ShardingTask>& tasks, const PolicyTraining& training) {
  std::vector<const ShardingTask*> all;
  for (const ShardingTask& task : tasks) all.push_back(&task);
  std::vector<std::string> hidden = training.without;
  std::erase(hidden, kCostModelPart);
  ShardingPolicy policy{trained_on(all, training.seed, hidden, {"dim", "row", "pooling_factor"}), 0, {}};
  policy.episodes = static_cast<std::int64_t>(updates_made(training)) * training.episodes;
  return policy;
}

}  // namespace shardsim
