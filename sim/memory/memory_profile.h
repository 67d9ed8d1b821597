#pragma once

#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "sim/memory/memory_part.h"
#include "sim/program/program.h"
#include "sim/timeline/timeline.h"

namespace shardsim {

// The most that a rank's device memory holds at any instant of the steady iteration.
struct MemoryPeak {
  MemoryAmounts amounts;  // at that instant
  double at_us = 0;       // in the Timeline; the first such instant
  int op = -1;            // whose start made it so; -1: nothing comes on top of what stays
  std::int64_t bytes() const { return amounts.total(); }
  bool operator==(const MemoryPeak&) const = default;
};

// The simulated high-water mark of every rank: what stays (sim/memory/resident_memory.h), and the buffers of the
// Program (sim/memory/buffers.h) while the Timeline has them alive. Iterations repeat each other, so that a buffer of
// an earlier iteration that is still read lies beside those of this one, as the batches of a pipeline do.
struct MemoryProfile {
  std::vector<MemoryPeak> ranks;
  std::size_t fullest() const;  // rank of the highest mark, the first of equals; `ranks` is not empty
  bool operator==(const MemoryProfile&) const = default;
};

// `timeline` is a simulated iteration of `program`, which was lowered from `plan` and `workload`.
MemoryProfile memory_profile(const Program& program, const Timeline& timeline, const Plan& plan,
                             const Workload& workload);

}  // namespace shardsim
