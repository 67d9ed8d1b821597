#pragma once

#include <vector>

#include "sim/timeline/timeline.h"

namespace shardsim {

// The time of one kept iteration, us on the Timeline's clock: from the end of the iteration before (over all ranks) to
// its own end, so that the windows of iterations that run back to back leave no gap. The first kept iteration begins
// with its first span. Iterations that were run apart begin with their first span, too: a Timeline says so by an
// `iteration_ms` that is nearer to the time between first span and last than to the time between two ends.
struct IterationWindow {
  int iteration = 0;
  double begin_us = 0, end_us = 0;
  double ms() const { return (end_us - begin_us) * 1e-3; }
};
std::vector<IterationWindow> iteration_windows(const Timeline& timeline);  // by rising iteration; none without spans

// The figures of each rank in each window: [window][rank]. Spans are cut at the ends of the windows, so that a
// collective of one iteration that runs beside the compute of the next counts as hidden.
std::vector<std::vector<RankTimes>> window_rank_times(const Timeline& timeline,
                                                      const std::vector<IterationWindow>& windows);

}  // namespace shardsim
