#pragma once

#include <algorithm>

#include "plan/dreamshard/placing_trainer.h"
#include "tests/plan/autoshard/test_tasks.h"

namespace shardsim {

// The made-up tasks of AutoShard, whose exchanges take as long as the widest rank has columns to send, 2 us each.
inline std::vector<PlacementTask> placing_tasks(int count, int tables, int ranks, std::uint64_t seed) {
  std::vector<PlacementTask> tasks;
  for (ShardingTask& made : made_up_tasks(count, tables, ranks, seed)) {
    PlacementTask task{std::move(made), {}, {}};
    const std::size_t width = feature_names(FeatureLayout::autoshard).size();
    std::vector<double> columns;
    for (int t = 0; t < tables; ++t) columns.push_back(task.features[static_cast<std::size_t>(t) * width]);
    task.measure = [columns, label = task.label, ranks](std::span<const int> rank_of) {
      PlacementCosts costs;
      costs.exchange.assign(static_cast<std::size_t>(ranks), 0.0);
      for (std::size_t t = 0; t < rank_of.size(); ++t)
        costs.exchange[static_cast<std::size_t>(rank_of[t])] += 2e-6 * columns[t];
      for (const double seconds : label(rank_of)) {
        costs.forward.push_back(seconds / 3);
        costs.backward.push_back(seconds - seconds / 3);
        costs.all = std::max(costs.all, seconds);
      }
      costs.all += *std::ranges::max_element(costs.exchange);
      return costs;
    };
    task.measure_all = [measure = task.measure](std::span<const int> rank_of) { return measure(rank_of).all; };
    tasks.push_back(std::move(task));
  }
  return tasks;
}

inline PlacingTraining short_placing(int iterations, std::uint64_t seed = 1) {
  PlacingTraining training;
  training.iterations = iterations;
  training.seed = seed;
  training.cost_steps = 40;
  training.cost_batch = 16;
  training.placements = 4;
  training.updates = 4;
  return training;
}

}  // namespace shardsim
