#pragma once

#include <vector>

#include "program/timeline/timeline.h"

namespace shardsim {

// The time of one rank's host in an iteration, milliseconds.
struct HostShare {
  double busy_ms = 0;  // it launches
  // The compute stream idles while the host launches, and goes on when the launch of its next operation ends.
  double waited_for_ms = 0;
};

// Returns the shares of the first kept iteration, [rank]; none where the Timeline has no launches.
std::vector<HostShare> host_times_of(const Timeline& timeline);

}  // namespace shardsim
