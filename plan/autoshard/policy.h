#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plan/autoshard/policy_net.h"
#include "plan/autoshard/sharding_task.h"
#include "plan/autoshard/trained_on.h"

namespace shardsim {

// All that a policy file holds: the net of `shardsim autoshard train`, and what it was trained on.
struct ShardingPolicy : TrainedOn {
  double balance = 0;             // on tasks held back, by the provider of the labels: in-model; 0: none were
  std::vector<float> parameters;  // of a PolicyNet<float>
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

}  // namespace shardsim
