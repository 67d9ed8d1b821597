#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "program/timeline/timeline.h"

namespace shardsim {

// From the first start to the last end of some spans.
struct Extent {
  double first_us = 0, last_us = 0;
};
std::map<int, Extent> extents_by(const Timeline& timeline, int Span::*key);  // of each rank, of each iteration
std::vector<Extent> extents_of_ranks(const Timeline& timeline);  // [rank]; the first above the last where it has none

// The time of one kept iteration, us on the Timeline's clock: from the end of the iteration before (over all ranks) to
// its own end, so that the windows of iterations that run back to back leave no gap. The first kept iteration begins
// with its first span. Iterations that were run apart begin with their first span, too: a Timeline says so by an
// `iteration_ms` that is nearer to the time between first span and last than to the time between two ends.
//
// A single iteration whose spans stretch over more than `iteration_ms` overlaps its neighbours, which the Timeline does
// not hold: with a pipeline it begins while the one before still computes, and a rank that waits for nobody runs ahead.
// It is steady, so its neighbours are copies of it, one period earlier and later. Its window is the last period, and
// `repeats`: what ran before the window began runs again, for a later iteration, before it ends.
struct IterationWindow {
  int iteration = 0;
  double begin_us = 0, end_us = 0;
  bool repeats = false;
  double ms() const { return (end_us - begin_us) * 1e-3; }
};
std::vector<IterationWindow> iteration_windows(const Timeline& timeline);  // by rising iteration; none without spans

// The part of a span, or of its copy in a neighbouring iteration, that lies in a window.
struct WindowPart {
  std::size_t span = 0;             // index into Timeline::spans
  double start_us = 0, end_us = 0;  // cut at the ends of the window
  double shift_us = 0;              // the copy runs so much later than the span itself
  int ahead = 0;                    // it belongs to the iteration so many after the window's; below 0: before
  bool continued = false;           // it began before the window
};

// [window]: in the order of the Timeline's spans. In a window that repeats every span is there in full, in one part or
// several. The windows neither overlap nor fall in time.
std::vector<std::vector<WindowPart>> parts_in(const Timeline& timeline, const std::vector<IterationWindow>& windows);

// Appends the parts of one span in a window that repeats.
void add_copies(std::vector<WindowPart>& parts, const Span& span, std::size_t index, const IterationWindow& window);

}  // namespace shardsim
