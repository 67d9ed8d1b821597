#pragma once

#include <cstdint>

#include "validate/execute/kernels/cuda_embedding.h"

namespace shardsim::cuda {

// Sorted lookups: runs of equal keys, each the gradients of one row. A run of more than kLongRun lookups is summed in
// parts, one per tile of kLongRun positions; so that one very hot row does not hold up the rest.
struct Runs {
  const std::uint64_t* keys;
  const std::uint32_t* values;
  const std::uint32_t* starts;
  const std::uint32_t* number;  // of runs
  std::int64_t lookups;

  __device__ std::int64_t start(std::int64_t run) const { return starts[run]; }
  __device__ std::int64_t end(std::int64_t run) const {
    return run + 1 < static_cast<std::int64_t>(*number) ? static_cast<std::int64_t>(starts[run + 1]) : lookups;
  }
  __device__ bool is_long(std::int64_t run) const { return end(run) - start(run) > kLongRun; }

  // The run that holds a position.
  __device__ std::int64_t at(std::int64_t position) const {
    std::int64_t low = 0, high = *number;  // the answer is in [low, high)
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      if (start(middle) <= position) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // The long run that began before position `first` of a tile and reaches into it; -1: there is none.
  __device__ std::int64_t long_run_into(std::int64_t first) const {
    if (first == 0 || keys[first] != keys[first - 1]) return -1;
    const std::int64_t run = at(first);
    return is_long(run) ? run : -1;
  }

  // The long run that begins in the tile from position `first` on: it reaches beyond the tile, so there is one at most.
  __device__ std::int64_t long_run_from(std::int64_t first) const {
    const std::int64_t next = first + kLongRun;
    if (next >= lookups || keys[next] != keys[next - 1]) return -1;
    const std::int64_t run = at(next);
    return start(run) >= first && is_long(run) ? run : -1;
  }
};

}  // namespace shardsim::cuda
