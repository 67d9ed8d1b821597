#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "program/timeline/timeline.h"

namespace shardsim {

// A merged trace shows this beside the spans of a Timeline, for its last kept iteration. Times are microseconds on the
// Timeline's clock; operations are indices into Timeline::ops.
struct TracedParts {
  // A stretch of the critical path.
  struct Step {
    std::string kind;  // "work", "start", "transfer", "held", "rest"
    int op = -1;       // -1: none
    int rank = -1;     // one that stands for all like it
    double start_us = 0, us = 0;
    std::string link;  // transfer: on which its bytes came last
  };
  // The bytes of one call of a collective on one link, from its first byte until its members end.
  struct LinkUse {
    int link = 0;  // index into `links`
    int op = 0;
    double start_us = 0, end_us = 0;
    double bytes = 0;
    double busy_us = 0;  // that the link would take for them alone
  };
  // An operation, and another one of the same rank and iteration that waits for its end.
  struct Wait {
    int sends = 0, waits = 0;
  };

  double period_us = 0;  // of a path that repeats itself in every iteration; 0: it does not
  int turns = 1;         // iterations that the path covers, of which `us` is the mean
  std::vector<Step> path;
  std::vector<std::string> links;  // the busiest, in the order of the cluster
  std::size_t links_in_all = 0;    // on which something moves
  std::vector<LinkUse> uses;       // of `links`
  std::vector<Wait> waits;
};

// A case as one trace for Perfetto: each rank a process with a track per stream, its host among them; tracks for links
// and for the critical path; arrows from the member that a collective waits for to those that wait in it, and from a
// collective to what waits for its end.
struct MergedTrace {
  std::string json;
  std::vector<int> left_out;  // ranks of the world that it does not show
};

// `ranks`: those to show; empty: from rank 0 on as many as make a file of some 100 MB at most. `parts` may be empty.
// Times are written as in kineto_trace(): whole nanoseconds, and a steady iteration that overlaps its neighbours as the
// window of one period.
MergedTrace merged_trace(const Timeline& timeline, const TracedParts& parts, const std::vector<int>& ranks,
                         const std::string& case_name);

}  // namespace shardsim
