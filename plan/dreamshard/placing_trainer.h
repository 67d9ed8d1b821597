#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/dreamshard/placing_policy.h"

namespace shardsim {

// Options for the training of both nets: DreamShard's values (NeurIPS 2022; training.py of daochenzha/dreamshard at
// 73128ed) where a comment says so, else ours (plan/dreamshard/README.md says why).
struct PlacingTraining {
  std::uint64_t seed = 1;
  int iterations = 10;               // theirs
  int placements = 40;               // measured in each; theirs: 10
  int cost_steps = 300;              // theirs, of the cost network in each iteration
  int cost_batch = 64;               // theirs, of placements
  int updates = 40;                  // of the policy in each iteration; theirs: 10
  int episodes = 10;                 // theirs, per update, all of one task
  double rate = 5e-4;                // theirs, of Adam; falls by a tenth of it with each of ten iterations
  double entropy_weight = 1e-3;      // theirs
  std::vector<std::string> without;  // features that the nets are not told: of feature_names(autoshard), or "bins"
};

// Progress of a training after an iteration of `all`: the mean seconds of the placements that it measured, and the cost
// network's mean square error of whole placements (in units of unit_seconds).
struct PlacingProgress {
  int iteration = 0, all = 0;
  double seconds = 0, cost_error = 0;
};
using PlacingWatch = std::function<void(const PlacingProgress&)>;  // may throw to stop

// Trains the cost network on measured placements, and the policy by REINFORCE on what the cost network predicts. Same
// tasks, same seed, same bytes. Errors (Failure::input): those of trained_on().
PlacingPolicy train_placing(const std::vector<PlacementTask>& tasks, const PlacingTraining& training,
                            const PlacingWatch& watch = {});

}  // namespace shardsim
