#pragma once

#include <span>
#include <vector>

#include "base/rng.h"

namespace shardsim {

// The trainings of policies share this: choices among ranks by the softmax of their scores, and steps on them.

// The score of a rank that may not be chosen: its share of the softmax is nothing.
inline constexpr float kNoChoice = -1e9F;

// Draws a rank by the softmax of the scores.
int drawn_rank(std::span<const float> scores, Rng& rng);

// Adds the gradient of the loss of one choice: cross entropy weighed by its advantage, minus the entropy of the
// choices.
void add_choice_gradient(std::span<const float> logits, int chosen, double advantage, double entropy_weight,
                         std::vector<float>& gradient);

// Shortens a gradient whose norm is above `most`.
void clip_norm(std::vector<float>& gradient, double most);

// Positions by falling value; equal ones as they come.
std::vector<int> falling(std::span<const float> values);

}  // namespace shardsim
