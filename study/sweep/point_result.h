#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/packed.h"
#include "plan/memory_need.h"
#include "study/confidence/interval.h"

namespace shardsim {

// The result of the simulation of one point, as a sweep keeps it.
struct PointResult {
  enum class Outcome : std::uint8_t {
    ok,
    does_not_fit,  // in memory: its plan, or any
    failed,        // bad input, or a simulation that cannot proceed
    died           // its process ended: another call tries again
  };
  std::uint32_t point = 0;
  Outcome outcome = Outcome::ok;
  std::string message;  // why there is no result; "" for ok
  // The rest is 0 and "" where there is none.
  std::int32_t world_size = 0;
  std::int64_t batch_per_gpu = 0;
  double iteration_ms = 0;
  std::optional<Interval> interval{};  // of iteration_ms (IterationJudge::wordless_interval)
  double samples_per_s = 0;
  std::int64_t memory_bytes = 0;     // of the fullest rank, by the memory model
  std::int64_t peak_bytes = 0;       // of the fullest rank, at its simulated peak
  bool buffers_counted = true;       // by the memory model
  std::int64_t host_bytes = 0;       // of rows in host memory, of the node that has most of them
  std::int64_t memory_capacity = 0;  // of a rank, less what is reserved
  std::string beyond_torchrec;       // why TorchRec cannot run the plan (plan/torchrec_types.h); "" where it can
  std::string limited_by;            // the busiest link or rank, and its share of the iteration
  double limit_share = 0;
  std::optional<double> cost_per_hour;  // of all GPUs, where the cluster states a price
  std::string currency;                 // of it, as the cluster has it; "": not stated
  std::uint64_t sweep = 0;              // whose point it is: sweep_digest()

  bool runs_out_of_memory() const {
    return !fits(MemoryNeed{memory_bytes, peak_bytes, buffers_counted}, memory_capacity);
  }
  // A point that somebody may choose: one that runs out of memory has a time, but no machine runs it.
  bool is_usable() const { return outcome == Outcome::ok && !runs_out_of_memory(); }
  bool operator==(const PointResult&) const = default;
};

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PointResult> auto& result) {
  visit(result.point, result.outcome, result.message, result.world_size, result.batch_per_gpu, result.iteration_ms,
        result.interval, result.samples_per_s, result.memory_bytes, result.peak_bytes, result.buffers_counted,
        result.host_bytes, result.memory_capacity, result.beyond_torchrec, result.limited_by, result.limit_share,
        result.cost_per_hour, result.currency, result.sweep);
}

}  // namespace shardsim
