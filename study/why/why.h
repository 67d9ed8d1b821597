#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/program.h"
#include "program/timeline/named_times.h"
#include "sim/engine/engine.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// The parts of an iteration's time, told by its critical path (docs/why.md). Milliseconds per iteration.

// The operations of one name on the path.
struct PathPart {
  std::string operation;
  std::string op_class;    // as Timeline::OpInfo has it; "" for what is no operation
  double ms = 0;           // on the path
  double start_ms = 0;     // of it: collectives before their bytes move
  double transfer_ms = 0;  // of it: their bytes
  double slowed_ms = 0;    // of it: lost because links or the GPU are shared
  int rank = -1;           // on which most of it is; -1: none
  std::string over{};      // what the bytes that came last went over: "NICs", "NVLink", ...; "" where none moved
  std::string link{};      // the link on which most of the transfer is
  std::string beside{};    // the operation that it shares that link with longest; "": none
};

// The cost of one table on the path: of fused operations by its part of their work (TableShares).
struct TablePart {
  std::string table;
  double ms = 0;  // the sum of:
  double lookup_ms = 0, exchange_ms = 0, update_ms = 0, other_ms = 0;
};

// The cost of collectives of one name on the path, beside what a run charges to them: transfer and waiting are means
// over the ranks, of time in which nothing else computes.
struct CollectivePart {
  std::string operation;
  double path_ms = 0;
  double transfer_ms = 0, waiting_ms = 0;
  int rank = -1;            // that was waited for longest; -1: none
  std::string waited_on{};  // what kept it: most of the time that the others waited
  std::string table{};      // of which that is mostly on that rank; "" where it is of none
  double waited_ms = 0;     // of waiting_ms: for that rank, while it ran that
};

// The time by which an operation that is not on the path could take longer in every iteration.
struct SlackPart {
  std::string operation;
  std::string op_class;
  double slack_ms = 0;
  int rank = -1;
};

struct Why {
  double iteration_ms = 0;              // of the iteration that was looked at; the parts add up to it
  bool repeats = false;                 // CriticalPath::repeats
  std::string sentence;                 // what a manager wants to know
  bool uses_host_link = false;          // rows go over it, or it is on the path; known to who finds the path alone
  bool uses_ssd = false;                // rows come from there, likewise
  std::vector<std::string> left_out{};  // what the path does not tell, in sentences
  std::vector<PathPart> parts{};        // in the order of the path
  std::vector<TablePart> tables{};      // the most expensive first
  std::vector<CollectivePart> collectives{};  // of the Program, in its order
  std::vector<SlackPart> slack{};             // the least first

  double sum_ms() const;  // of the parts
};

// `times`: named_times of the iteration's Timeline.
Why why_of(const Program& program, const Cluster& cluster, const CriticalPath& path,
           const std::vector<NamedTime>& times);

}  // namespace shardsim
