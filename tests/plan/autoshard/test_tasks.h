#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "plan/autoshard/sharding_task.h"

namespace shardsim {

// A task whose shards cost what their tables look up, and something once: columns times lookups, in microseconds.
inline ShardingTask made_up_task(int tables, int ranks, Rng& rng) {
  ShardingTask task;
  task.name = "made up";
  task.ranks = ranks;
  task.room = 1e12;
  task.setting = {"closed_form", "toy", 64, "sgd", "fp32"};
  std::vector<double> costs;
  for (int t = 0; t < tables; ++t) {
    const double dim = rng.below(2) == 0 ? 16 : 32, pooling = 1 + static_cast<double>(rng.below(40));
    std::vector<float> features(feature_names(FeatureLayout::autoshard).size(), 0.0F);
    features[0] = static_cast<float>(dim), features[1] = 1e6F, features[2] = static_cast<float>(pooling);
    features[3] = 0.1F, features[4] = 1;
    task.features.insert(task.features.end(), features.begin(), features.end());
    costs.push_back(dim * pooling * 1e-6);
    task.bytes.push_back(dim * 1e6);
    task.alone.push_back(1e-5 + costs.back());
  }
  task.label = [costs, ranks](std::span<const int> rank_of) {
    std::vector<double> seconds(static_cast<std::size_t>(ranks), 0.0);
    for (std::size_t t = 0; t < rank_of.size(); ++t) {
      double& shard = seconds[static_cast<std::size_t>(rank_of[t])];
      shard += costs[t] + (shard == 0 ? 1e-5 : 0);
    }
    return seconds;
  };
  return task;
}

inline std::vector<ShardingTask> made_up_tasks(int count, int tables, int ranks, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<ShardingTask> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back(made_up_task(tables, ranks, rng));
  return tasks;
}

}  // namespace shardsim
