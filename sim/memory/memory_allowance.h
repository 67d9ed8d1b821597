#pragma once

#include <cstdint>

#include "models/workload/workload.h"
#include "sim/memory/memory_profile.h"

namespace shardsim {

// Memory that a GPU needs beside its simulated peak, and that no operation of an iteration shows (docs/lowering.md,
// "What comes on top of the peak").
struct MemoryAllowance {
  std::int64_t fragments = 0;  // of the allocator, between buffers that come and go
  std::int64_t start_up = 0;   // by which initialisation and the optimizer's first step are above the peak
  std::int64_t bytes() const { return fragments + start_up; }
  bool operator==(const MemoryAllowance&) const = default;
};

MemoryAllowance memory_allowance(const MemoryPeak& peak, const Workload& workload);

}  // namespace shardsim
