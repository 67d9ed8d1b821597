#pragma once

#include <optional>
#include <string>

#include "base/document/document.h"
#include "validate/comparison/timeline_comparison.h"

namespace shardsim {

// The spread of an observation, below which it says nothing of errors.
struct ObservedSpread {
  // From the shortest to the longest iteration, in percent of the median; none: fewer than two iterations.
  std::optional<double> iterations_pct;
  // From the rank that computes least in an iteration to the one that computes most, in percent of the latter; none:
  // fewer than two ranks, or nothing is computed.
  std::optional<double> ranks_pct;
  int least_rank = -1, most_rank = -1;  // of ranks_pct
};
ObservedSpread observed_spread(const TimelineComparison& comparison);

// "8 ranks, 20 iterations observed on 2 x A100 (n0, n1), nccl, NCCL 2.18.3".
std::string observed_on(const TimelineComparison& comparison);

// Spread, clocks, and what the machines said of themselves (Timeline::Measured::more), one row each. Without blocks
// where the second side is a prediction.
Section conditions_section(const TimelineComparison& comparison);

}  // namespace shardsim
