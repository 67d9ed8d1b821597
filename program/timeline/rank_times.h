#pragma once

#include <vector>

#include "program/timeline/iteration_window.h"
#include "program/timeline/timeline.h"

namespace shardsim {

class Arrivals;

// Figures computed from spans alone (docs/architecture.md, "Exposed time"); milliseconds per kept iteration (the
// distinct Span::iteration values). Where one iteration overlaps its neighbours, they are of the window of one period
// (iteration_window.h), so that compute, exposed and idle time of a rank add up to the iteration.

struct RankTimes {
  double compute_ms = 0;  // some compute operation running
  double comm_ms = 0;     // some collective running
  double exposed_ms = 0;  // a collective and no compute running
  double waiting_ms = 0;  // of the exposed time: the collective has not begun, since a member of its group is missing
};

inline constexpr double kMsPerUs = 1e-3;  // spans are in microseconds

std::size_t kept_iterations(const Timeline& timeline);  // at least 1

std::vector<RankTimes> rank_times(const Timeline& timeline);
RankTimes mean_of(const std::vector<RankTimes>& ranks);  // zeros of no ranks

// The figures of each rank in each window: [window][rank]. Spans are cut at the ends of the windows, so that a
// collective of one iteration that runs beside the compute of the next counts as hidden.
std::vector<std::vector<RankTimes>> window_rank_times(const Timeline& timeline,
                                                      const std::vector<IterationWindow>& windows);

// Microseconds that are charged to each span.
struct SpanCharges {
  explicit SpanCharges(const Timeline& timeline) : exposed_us(timeline.spans.size(), 0.0), waiting_us(exposed_us) {}
  void copy(std::size_t from, std::size_t to) {
    exposed_us[to] = exposed_us[from];
    waiting_us[to] = waiting_us[from];
  }
  void forget(const std::vector<WindowPart>& parts) {
    for (const WindowPart& part : parts) exposed_us[part.span] = waiting_us[part.span] = 0;
  }
  std::vector<double> exposed_us, waiting_us;  // [span]
};

// rank_times() by which each span is charged, too: `charges` hold nothing yet.
std::vector<RankTimes> charged_rank_times(const Timeline& timeline, const Arrivals& arrivals, SpanCharges& charges);

// The time of one rank's host in an iteration, milliseconds.
struct HostShare {
  double busy_ms = 0;  // it launches
  // The compute stream idles while the host launches, and goes on when the launch of its next operation ends.
  double waited_for_ms = 0;
};

// Returns the shares of the first kept iteration, [rank]; none where the Timeline has no launches.
std::vector<HostShare> host_times_of(const Timeline& timeline);

}  // namespace shardsim
