#pragma once

#include "sim/confidence/interval.h"

namespace shardsim {

// What one and the same run is off by when it is repeated, of ln(time): the mean over the rows of
// scenarios/accuracy/repeats.csv (5 or 10 runs each) of the mean deviation that their range stands for. No plan is
// known to be faster than another by less, however alike the errors of the two are.
inline constexpr double kRepeatScale = 0.0073;

// Two iterations, and how sure their order is. What they share is left out: on one cluster the errors of a class of
// operations are the same in both, so that only the difference of what they spend in it counts; what whole iterations
// of a software are off by beside their parts counts as far as the two differ in what they are made of. On different
// clusters the errors of parts are independent. Both repeat with an error of their own, unless the two are one plan.
struct Difference {
  double log_ratio = 0;  // ln(second / first), predicted
  double scale = 0;      // of its error

  double first_is_faster() const;  // chance, 0 to 1
  // The same of two that are known to differ by more than this, of ln(second / first); needs a scale above 0.
  double first_is_faster_by(double least) const;
  // How much longer the first is expected to take than the second where it turns out slower, on average over all
  // outcomes; relative to the second.
  double expected_regret() const;
};

Difference difference_of(double first_ms, const Interval& first, double second_ms, const Interval& second);

}  // namespace shardsim
