#pragma once

#include <cstdint>

#include "models/workload/workload.h"

namespace shardsim {

// Limits that hold for every workload, whether a file states it or it has grown since.

inline constexpr std::int64_t kMostBatchPerGpu = 1'000'000'000;  // samples

// Keeps every byte count of a run inside 63 bits. Errors: Failure::input at the table with which there are too many.
void check_sizes(const Workload& workload);

}  // namespace shardsim
