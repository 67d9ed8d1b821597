#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plan/autoshard/policy.h"
#include "plan/autoshard/sharding_task.h"
#include "plan/dreamshard/placement_net.h"
#include "plan/dreamshard/placing_net.h"

namespace shardsim {

// The seconds of one placement of whole tables, as DreamShard measures it (Zha et al., NeurIPS 2022).
struct PlacementCosts {
  std::vector<double> forward, backward;  // by rank: lookups; gradients and updates
  std::vector<double> exchange;           // by rank: the exchanges of its own tables' vectors and gradients, alone
  double all = 0;                         // the slowest rank and the exchanges of all
};

// Tables to be dealt whole over ranks so that computation and exchanges together are short.
struct PlacementTask : ShardingTask {
  // May hold on to what the task was made of.
  std::function<PlacementCosts(std::span<const int> rank_of)> measure;
  std::function<double(std::span<const int> rank_of)> measure_all;  // PlacementCosts::all, for less than all of them
};

// As sharding_task(), by the same providers.
PlacementTask placement_task(const Workload& workload, const Cluster& cluster, const PlannerContext& context,
                             const std::string& provider);

// All that a file of `shardsim dreamshard train` holds: two nets, and what they were trained on.
struct PlacingPolicy : TrainedOn {
  std::int64_t measured = 0;   // placements whose costs taught the cost network
  double cost_error = 0;       // of its cost of placements of tasks held back, relative, mean; 0: none were
  std::vector<float> costs;    // of a PlacementNet<float>
  std::vector<float> choices;  // of a PlacingNet<float>
};

// One task placed several times, side by side, table by table in the order of falling predicted cost.
// `episodes.costs` and `scores` are only kept where the games are to be learned from.
struct PlacedGames {
  PlacingEpisodes<float> episodes;
  std::vector<float> scores;  // [steps x ranks], kNoChoice where there was no room and another rank had some
  std::vector<int> order;     // [tables]
  std::vector<std::vector<int>> rank_of;  // [count][tables]
  std::vector<float> cost;                // [count] predicted, of the whole placement
};

// Chooses a rank in that episode by the scores.
using GameChoice = std::function<int(int episode, std::span<const float> scores)>;
PlacedGames play_games(const PlacingPolicy& policy, const ShardingTask& task, int count, bool learned_from,
                       const GameChoice& choice);

// The games of which a plan is the best: one by the highest scores, and `samples` by the softmax of the scores. Where
// nobody states a number, that of the planner.
struct GameCounts {
  int samples = 100;
  int measured = 8;  // of the placements of least predicted cost, the fastest of which is taken; 0: none is measured
};
// The first placement where none fits.
struct GamePlan {
  std::vector<int> rank_of;
  double seconds = 0;  // predicted
};
GamePlan best_of_games(const PlacingPolicy& policy, const PlacementTask& task, const GameCounts& games,
                       std::uint64_t seed);

// HDF5, docs/formats/learned_models.md "Policies". Written whole or not at all; the same policy gives the same bytes.
void save_placing_policy(const PlacingPolicy& policy, const std::filesystem::path& file);
// Errors (Failure::input, naming file and object): no such file, cut off, another schema or feature layout, sizes that
// do not fit the nets, numbers that are not finite; another provider than asked for ("": any).
PlacingPolicy read_placing_policy(const std::filesystem::path& file, const std::string& provider = "");

}  // namespace shardsim
