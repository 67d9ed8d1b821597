#pragma once

#include <vector>

namespace shardsim {

// One stretch of a critical path: an operation, or one phase of a collective, on one rank.
struct PathStep {
  // work: computes (or the host works); start: a collective before its bytes move; transfer: its bytes, on the link
  // that this rank waits for longest; held: a rank that ran ahead waits for an iteration to end; rest: the iteration
  // differs by so little from the one before it.
  enum class Kind { work, start, transfer, held, rest };
  Kind kind = Kind::work;
  int op = -1;        // of the Program; -1: held, rest
  int rank = -1;      // one that stands for all like it (NodeClasses)
  int iteration = 0;  // 0: that of the path, -1: the one before it
  double start = 0;   // seconds on the clock of the run
  double seconds = 0;
  double slowed = 0;  // of `seconds`: lost because a link, or the GPU, is shared
  int link = -1;      // transfer: of the cluster; -1: nothing moves for this rank
  int beside = -1;    // the operation with which a slowed transfer shares its link longest; -1: none
  double drawn = 1;   // transfer: of its link's rate, the most that the collective's own algorithm takes
  bool operator==(const PathStep&) const = default;
};

// The time by which an operation could take longer in every iteration before iterations get longer, on the rank where
// that is least. Exact where nothing is shared: two operations that share a link or a GPU also slow each other.
struct OpSlack {
  double seconds = 0;  // 0 on the path; negative: the operation runs nowhere
  int rank = -1;
  bool operator==(const OpSlack&) const = default;
};

// The steps that set the length of an iteration (sim/engine/critical_path.h). The seconds of the steps add up to
// `seconds`.
struct CriticalPath {
  double seconds = 0;           // of the iteration that was looked at
  bool repeats = false;         // the steps are one turn of a way that every iteration takes
  int turns = 1;                // iterations that this turn covers; of their steps the seconds per iteration are given
  std::vector<PathStep> steps;  // in the order of time; empty: not known
  std::vector<OpSlack> slack;   // [op]
  std::vector<double>
      beneath;  // [op] seconds of what GPUs have to do while it runs over their hosts (critical_path.cpp)
  bool operator==(const CriticalPath&) const = default;
};

}  // namespace shardsim
