#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "validate/execute/run/execute.h"

namespace shardsim {

// Sizes of a sweep: per rank, as nccl-tests counts them.
std::vector<std::int64_t> collective_sizes(bool quick);

// Runs all-reduce and all-to-all of those sizes over all ranks, each iteration started together, and returns what
// nccl-tests would print of it on rank 0 ("" on the others): text that `shardsim collective compare` and
// `shardsim cluster calibrate` read. Times are medians over the iterations, of the slowest rank. Every rank calls.
// Errors: those of execute().
std::string bench_collectives(Rendezvous& rendezvous, const ExecuteOptions& options,
                              const std::vector<std::int64_t>& sizes);

}  // namespace shardsim
