#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plan/autoshard/policy_net.h"
#include "plan/autoshard/sharding_task.h"
#include "plan/learned/cost_model.h"

namespace shardsim {

// All that a policy file holds: the net of `shardsim autoshard train`, and what it was trained on.
struct ShardingPolicy {
  LabelSetting setting;
  std::string data;                               // what the tasks are, in the words of their scenario
  std::uint64_t data_hash = 0;                    // of features and seconds of their tables
  std::int64_t tasks = 0, tables = 0, ranks = 0;  // trained on: how many, and the most of one
  std::uint64_t seed = 1;
  std::int64_t episodes = 0;
  double balance = 0;             // on tasks held back, by the provider of the labels: in-model; 0: none were
  InputScale features;            // of the features of a table
  std::vector<int> used;          // [features] 0: the net is not told
  double unit_seconds = 1;        // what 1 of a predicted cost stands for
  std::vector<float> parameters;  // of a PolicyNet<float>

  // As the net takes them; [tables x features].
  std::vector<float> scaled(std::vector<float> raw) const;
};

// Chooses a rank: `scores` by rank, higher is better; `room`: which ranks have room for the table.
using RankChoice = std::function<int(std::span<const float> scores, const std::vector<bool>& room)>;

// Tasks of equal numbers of tables and ranks that are played side by side, table by table, those of the highest
// predicted cost first.
struct Played {
  Episodes<float> episodes;
  PolicyNet<float>::Pass pass;
  std::vector<std::vector<int>> order;    // [tasks][steps] tables
  std::vector<std::vector<int>> rank_of;  // [tasks][tables]
};
Played play(const ShardingPolicy& policy, std::span<const ShardingTask* const> tasks, const RankChoice& choice);

// By the highest score, of the ranks that have room where any has; with its task alone, by the policy.
int best_with_room(std::span<const float> scores, const std::vector<bool>& room);
std::vector<int> placed(const ShardingPolicy& policy, const ShardingTask& task);
// Dealt by predicted costs alone: the costliest table first, each to the rank whose shard is predicted cheapest so far.
std::vector<int> dealt_by_costs(const ShardingPolicy& policy, const ShardingTask& task);

// HDF5, docs/formats/learned_models.md "Policies". Written whole or not at all; the same policy gives the same bytes.
void save_policy(const ShardingPolicy& policy, const std::filesystem::path& file);
// Errors (Failure::input, naming file and object): no such file, cut off, another schema or feature layout, sizes that
// do not fit the net, numbers that are not finite; another provider than asked for ("": any).
ShardingPolicy read_policy(const std::filesystem::path& file, const std::string& provider = "");
// Refuses a task of another setting than the policy was trained on. Errors (Failure::input) name what differs.
void check_fits(const ShardingPolicy& policy, const ShardingTask& task, const Place& place);

}  // namespace shardsim
