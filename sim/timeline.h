#pragma once

#include <cstdint>
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

// What ran when, on which rank and stream, moving how many bytes. Predicted and observed are the same type.
// Spans are sorted by (start, rank, stream, op).
struct Timeline {
  struct OpInfo {
    std::string name;
    std::string op_class;  // lookup, update, dense, or the collective's kind
    double alone_us = 0;   // predicted only: duration without contention; 0 when not known
    bool operator==(const OpInfo&) const = default;
  };
  std::string kind = "predicted";  // or "observed"
  bool complete = true;
  int world_size = 0;
  int ranks_per_node = 0;
  std::vector<std::string> streams;
  std::vector<OpInfo> ops;
  std::vector<Span> spans;
  std::vector<std::int64_t> hbm_bytes;               // [rank]
  std::vector<std::int64_t> bytes_out, bytes_in;     // [rank], of one iteration, own chunks excluded
  std::vector<std::int64_t> flow;                    // [rank x rank] bytes of one iteration; empty above 256 ranks
  double iteration_ms = 0;                           // steady iteration
  int iterations_run = 0;
  bool steady = true;

  bool operator==(const Timeline&) const = default;
};

// Figures computed from spans alone, over the kept iteration(s); milliseconds per iteration.

bool is_communication(std::string_view op_class);

struct RankTimes {
  double compute_ms = 0;  // some compute operation running
  double comm_ms = 0;     // some collective running
  double exposed_ms = 0;  // a collective and no compute running
};
std::vector<RankTimes> rank_times(const Timeline& timeline);

// Time of the operations of one name, mean over the ranks that run them.
// exposed: instants without compute are charged to the one running collective that ends last (the one the rank is still
// waiting for), so that the exposed times of all collectives add up to the rank's exposed time.
struct NamedTime {
  std::string name;
  std::string op_class;
  int calls = 0;          // per rank and iteration
  double alone_ms = 0;    // sum of the calls' durations without contention
  double span_ms = 0;     // sum of the calls' durations as they ran
  double exposed_ms = 0;
  std::int64_t bytes_per_rank = 0;  // largest over ranks
};
std::vector<NamedTime> named_times(const Timeline& timeline);  // in order of first appearance among the ops

void sort_spans(Timeline& timeline);

// A compact form for the pipe between worker and parent. Reading back what was written gives an equal value.
std::string to_bytes(const Timeline& timeline);
Timeline timeline_from_bytes(std::string_view bytes);

}  // namespace shardsim
