#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace shardsim {

// One operation as it ran on one rank.
struct Span {
  double start_us = 0;  // since the start of the first kept iteration
  double end_us = 0;
  int rank = 0;
  int stream = 0;
  int op = 0;  // index into Timeline::ops
  int iteration = 0;
  std::int64_t bytes = 0;  // moved by this rank in this span (0 for compute)
  bool operator==(const Span&) const = default;
};

// Says what ran when, on which rank and stream, and how many bytes it moved. Predictions and observations have the same
// type. Spans are sorted by (start, rank, stream, op).
struct Timeline {
  struct OpInfo {
    std::string name;
    std::string op_class;  // lookup, update, dense, or the collective's kind
    double alone_us = 0;   // predicted only: duration without contention; 0 when not known
    // Collectives only; "" when not known.
    std::string group{};      // key of Timeline::groups
    std::string dtype{};      // fp32, fp16, bf16, int8, int32, int64
    std::string algorithm{};  // as CollectiveLoads has it: direct, ring, Ring, NVLS, ...
    std::string protocol{};   // of NCCL: LL, LL128, Simple; "" where none is told apart
    bool operator==(const OpInfo&) const = default;
  };
  // The machine and the software that it was observed on; all empty in a prediction.
  struct Measured {
    std::vector<std::string> hosts;  // [node]; no name holds a comma
    std::string device;              // "NVIDIA A100-SXM4-40GB", the CPU's name
    std::string driver, cuda, nccl;  // versions; "" where there is none
    std::string transport;           // nccl, sockets, mpi
    double clock_residual_us = 0;    // how much the clocks of two nodes may differ
    double clock_drift_us = 0;       // how much the clock of a node moved at most against that of rank 0 during the run
    std::string more{};              // what else its machines say of themselves: "name: value" with "; " between
    bool operator==(const Measured&) const = default;
  };
  std::string kind = "predicted";  // or "observed"
  bool complete = true;
  int world_size = 0;
  int ranks_per_node = 0;
  std::vector<std::string> streams;
  std::vector<OpInfo> ops;
  std::map<std::string, std::vector<std::vector<int>>> groups;  // as Program::groups; may be empty
  std::vector<Span> spans;
  std::vector<std::int64_t> hbm_bytes;            // [rank]
  std::vector<std::int64_t> bytes_out, bytes_in;  // [rank], of one iteration, own chunks excluded
  std::vector<std::int64_t> flow;                 // [rank x rank] bytes of one iteration; empty above 256 ranks
  double iteration_ms = 0;                        // steady iteration
  int iterations_run = 0;
  bool steady = true;
  Measured measured;

  bool operator==(const Timeline&) const = default;
};

// The members of the rank set in the op's group that contains `rank`; empty if the Timeline does not state them.
std::vector<int> group_of(const Timeline& timeline, const Timeline::OpInfo& op, int rank);

// True when an iteration may take so long; nothing that took less than a femtosecond, or more than 11 days, was ever
// measured.
bool is_iteration_ms(double ms);

void sort_spans(Timeline& timeline);

// The faults that every reader refuses: an end before its start, a time that is not finite or impossible, a rank
// outside the world or twice in a rank set, an op or stream outside its table, columns of unequal length.
struct TimelineFault {
  std::string text;  // what is wrong; "": nothing
  std::string part;  // of the file, as "spans/rank"
};
TimelineFault timeline_fault(const Timeline& timeline);

// A compact form for the pipe between worker and parent on one machine. Reading back what was written gives an equal
// value. Errors: Failure::run when the bytes are not what to_bytes wrote.
std::string to_bytes(const Timeline& timeline);
Timeline timeline_from_bytes(std::string_view bytes);

// Tests of the class of an operation in a Timeline.
bool is_communication(std::string_view op_class);  // one of the collective kinds
bool is_compute(std::string_view op_class);        // lookup, update or dense
bool is_host(std::string_view op_class);           // launches by the host, which are neither

}  // namespace shardsim
