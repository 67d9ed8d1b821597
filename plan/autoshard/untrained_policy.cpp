#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "plan/autoshard/trainer.h"

namespace shardsim {
namespace {

void check_tasks(const std::vector<ShardingTask>& tasks) {
  if (tasks.empty()) throw input_error({"training"}, "no task to train on", "Give a scenario with two cases or more");
  for (const ShardingTask& task : tasks) {
    if (task.tables() == 0 || task.ranks < 2)
      throw input_error({task.name}, "the task has no table, or fewer than two ranks", "Leave it out");
    if (task.setting != tasks.front().setting)
      throw input_error(
          {task.name},
          fmt::format("the GPU, batch, optimizer, data type or provider differs from that of '{}'", tasks.front().name),
          "Train a separate policy for it: a policy is trained on one of each");
    for (const double seconds : task.alone)
      if (!(seconds > 0 && std::isfinite(seconds)))
        throw input_error({task.name}, "the cost of a table is not finite or not above 0", "Leave the task out");
  }
}

// Means and population deviations over all tables of all tasks, of those features that AutoShard standardises: dim,
// row and pooling_factor; the others stay as they are. Where all are equal they are centred alone.
InputScale scale_of(const std::vector<ShardingTask>& tasks, const std::vector<std::string>& names) {
  InputScale scale{std::vector<float>(names.size(), 0.0F), std::vector<float>(names.size(), 1.0F)};
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (names[k] != "dim" && names[k] != "row" && names[k] != "pooling_factor") continue;
    double count = 0, sum = 0, square = 0;
    for (const ShardingTask& task : tasks)
      for (std::size_t at = k; at < task.features.size(); at += names.size()) {
        const double value = task.features[at];
        count += 1, sum += value, square += value * value;
      }
    const double mean = sum / count, variance = std::max(0.0, square / count - mean * mean);
    scale.means[k] = static_cast<float>(mean);
    if (variance > 1e-12 * mean * mean) scale.deviations[k] = static_cast<float>(std::sqrt(variance));
  }
  return scale;
}

std::vector<int> used_features(const std::vector<std::string>& names, const std::vector<std::string>& without) {
  std::vector<int> used(names.size(), 1);
  for (const std::string& left_out : without) {
    bool found = false;
    for (std::size_t k = 0; k < names.size(); ++k)
      if (names[k] == left_out || (left_out == "bins" && names[k].starts_with("bin_"))) found = true, used[k] = 0;
    if (!found)
      throw input_error({"argument --without"}, fmt::format("no feature {}", excerpt(left_out)),
                        known_names_hint(left_out, {"dim", "row", "pooling_factor", "size", "bins"}));
  }
  return used;
}

std::uint64_t hash_of(const std::vector<ShardingTask>& tasks) {
  std::uint64_t hash = 0;
  for (const ShardingTask& task : tasks) {
    hash = mix(hash, static_cast<std::uint64_t>(task.ranks));
    hash = mix(hash, std::bit_cast<std::uint64_t>(task.room));
    for (const float feature : task.features) hash = mix(hash, std::bit_cast<std::uint32_t>(feature));
    for (const double seconds : task.alone) hash = mix(hash, std::bit_cast<std::uint64_t>(seconds));
  }
  return hash;
}

}  // namespace

ShardingPolicy untrained_policy(const std::vector<ShardingTask>& tasks, const PolicyTraining& training) {
  check_tasks(tasks);
  const std::vector<std::string>& names = feature_names(FeatureLayout::autoshard);
  ShardingPolicy policy;
  policy.setting = tasks.front().setting;
  policy.data_hash = hash_of(tasks);
  policy.tasks = std::ssize(tasks);
  double shards = 0, seconds = 0;
  for (const ShardingTask& task : tasks) {
    policy.tables = std::max<std::int64_t>(policy.tables, task.tables());
    policy.ranks = std::max<std::int64_t>(policy.ranks, task.ranks);
    shards += task.ranks;
    for (const double alone : task.alone) seconds += alone;
  }
  policy.unit_seconds = seconds / shards;
  policy.seed = training.seed;
  policy.episodes = static_cast<std::int64_t>(training.updates) * training.episodes;
  policy.features = scale_of(tasks, names);
  policy.used = used_features(names, training.without);
  return policy;
}

}  // namespace shardsim
