#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/autoshard/policy.h"

namespace shardsim {

// Options for the training of a policy: AutoShard's values (KDD 2022, appendix B; train.py at e861ecb) where a comment
// says so, else ours (plan/autoshard/README.md says why).
struct PolicyTraining {
  std::uint64_t seed = 1;
  int updates = 250;   // theirs: 125 (100,000 steps by 8 unrolls of 100)
  int stop_after = 0;  // updates: what such a training has learned by then; 0: all of them
  int episodes = 10;   // per update, whole ones
  int plays = 5;       // of one task among the episodes of an update, each judged by their mean; 1: theirs
  double rate = 1e-3;  // theirs, of Adam; falls to 0 on a line
  double clip = 40;    // theirs, of the gradient's norm
  double value_weight = 0.5, entropy_weight = 1e-3;      // theirs
  int cost_steps = 20, cost_batch = 512, buffer = 5000;  // theirs: of the cost model, after every update
  // Features that the net is not told: of feature_names(autoshard), or "bins"; or kCostModelPart.
  std::vector<std::string> without;
};

int updates_made(const PolicyTraining& training);  // all, or up to where it is stopped

// `without` calls the cost model so: without it no cost is learned, the policy is told none, and tables come in the
// order of their task (an ablation of AutoShard's table 4).
inline constexpr const char* kCostModelPart = "cost_model";
bool has_cost_model(const PolicyTraining& training);

// Progress of a training after an update of `all`: the mean reward of its episodes, and the cost model's mean square
// error (of labels over their mean).
struct PolicyProgress {
  int update = 0, all = 0;
  double reward = 0, cost_error = 0;
};
using PolicyWatch = std::function<void(const PolicyProgress&)>;  // may throw to stop

// Trains a policy: synchronous actor-critic, in which the policy that acts is the one that learns, so that V-trace's
// ratios are 1 and its targets are the returns of whole episodes. Same tasks, same seed, same bits.
// Errors (Failure::input): no task, tasks of several settings, a label that is not finite or not above 0, an unknown
// name in `without`.
ShardingPolicy train_policy(const std::vector<ShardingTask>& tasks, const PolicyTraining& training,
                            const PolicyWatch& watch = {});

// The policy that a training begins with: all but the parameters. Errors: as above.
ShardingPolicy untrained_policy(const std::vector<ShardingTask>& tasks, const PolicyTraining& training);

}  // namespace shardsim
