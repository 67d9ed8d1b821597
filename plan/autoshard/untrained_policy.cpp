#include "plan/autoshard/trainer.h"

namespace shardsim {

// Standardised are those features that AutoShard's code standardises.
ShardingPolicy untrained_policy(const std::vector<ShardingTask>& tasks, const PolicyTraining& training) {
  std::vector<const ShardingTask*> all;
  for (const ShardingTask& task : tasks) all.push_back(&task);
  ShardingPolicy policy{
      trained_on(all, training.seed, training.without, {"dim", "row", "pooling_factor"}), 0, {}};
  policy.episodes = static_cast<std::int64_t>(training.updates) * training.episodes;
  return policy;
}

}  // namespace shardsim
