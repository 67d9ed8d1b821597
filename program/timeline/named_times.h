#pragma once

#include <string>
#include <vector>

#include "program/timeline/rank_times.h"
#include "program/timeline/timeline.h"

namespace shardsim {

// Time of the operations of one name, per iteration.
// exposed: instants without compute are charged to the one running collective that ends last (the one the rank is still
// waiting for), so that the exposed times of all collectives add up to the rank's exposed time.
// waiting: the part of it before the last member of the group had arrived; the rest is transfer. Where the Timeline
// does not know the members, nothing counts as waiting.
struct NamedTime {
  std::string name;
  std::string op_class;
  int calls = 0;                    // per rank and iteration
  double alone_ms = 0;              // sum of the calls' durations without contention
  double span_ms = 0;               // sum of the calls' durations as they ran, of the slowest rank
  double exposed_ms = 0;            // mean over the ranks
  std::int64_t bytes_per_rank = 0;  // largest over ranks
  double waiting_ms = 0;            // of exposed_ms
  // Whom the exposed time waited for longest: the member that arrived last, and what made it later than the first.
  struct WaitedFor {
    int rank = -1;          // -1: nobody
    std::string operation;  // "": nothing before
    double ms = 0;          // of waiting_ms
    int op = -1;            // of the Timeline, that operation: names are shared; -1: none, or read from a file
  };
  WaitedFor waited_for{};

  double transfer_ms() const { return exposed_ms - waiting_ms; }
  // True when the waiting is worth words: from a hundredth of the iteration, and of what is exposed, on.
  bool waits_tellingly(double iteration_ms) const;
};
std::vector<NamedTime> named_times(const Timeline& timeline);  // in order of first appearance among the ops
// The same without `waited_for`, in half the time.
std::vector<NamedTime> named_times_alone(const Timeline& timeline);

// named_times() and rank_times() in one pass.
struct TimelineTimes {
  std::vector<NamedTime> names;
  std::vector<RankTimes> ranks;
};
TimelineTimes all_times(const Timeline& timeline);

}  // namespace shardsim
