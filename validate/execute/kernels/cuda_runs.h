#pragma once

#include <cstdint>

#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_group.h"

namespace shardsim::cuda {

// Sorted lookups: runs of equal keys, each the gradients of one row. A warp takes a window of them at a time, and does
// the runs that begin in it. A run of more than kLongRun lookups is left to whole blocks, in parts of at most
// kLongPart, so that one very hot row does not hold up the rest.

constexpr int kRoundsOfWindow = 4;  // as many runs as a warp's groups take at a time, so many times

// Positions of a window where so many threads work on a row.
__host__ __device__ inline int window_of(unsigned lanes) {
  const unsigned positions = kWarp / lanes * kRoundsOfWindow;
  return static_cast<int>(positions < kWarp ? positions : kWarp);
}

struct SortedLookups {
  const std::uint64_t* keys;
  const std::uint32_t* values;
  std::int64_t count;

  __device__ bool continues(std::int64_t position, std::uint64_t key) const {
    return position < count && keys[position] == key;
  }

  // The position behind the run of a key that is known to reach `position`.
  __device__ std::int64_t end_of_run(std::int64_t position, std::uint64_t key) const {
    std::int64_t step = kLongRun;
    for (; continues(position + step, key); step *= 2) position += step;
    std::int64_t end = position + step;  // is behind it
    while (end - position > 1) {
      const std::int64_t middle = position + (end - position) / 2;
      if (continues(middle, key)) {
        position = middle;
      } else {
        end = middle;
      }
    }
    return end;
  }
};

// The tables of the sorted lookups, and the windows into which those of each are cut; null `tables`: there is only
// `one`. Lookups of a table lie together, where its offsets say, for keys grow from table to table.
struct WindowedTables {
  const TableView* tables;
  TableView one;
  int count;
  std::int64_t bags;            // per table
  const std::int64_t* offsets;  // [count x bags + 1]
  const std::int64_t* windows;  // [count + 1]: of the tables before
  std::int64_t lookups;

  template <int width>
  __device__ std::int64_t all() const {
    return tables != nullptr ? windows[count] : windows_for(lookups, window_of(lanes_of<width>(one.dim)));
  }
  __device__ static std::int64_t windows_for(std::int64_t positions, int window) {
    return (positions + window - 1) / window;
  }

  // The last table whose windows begin at `window` or before.
  __device__ int table_of(std::int64_t window) const {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      if (windows[middle] <= window) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

// The windows of every table: of the tables before it, and of all. All threads of a warp, each for some neighbouring
// tables.
template <int width>
__device__ void count_windows(const WindowedTables& of, std::int64_t* windows) {
  const int lane = static_cast<int>(threadIdx.x % kWarp), each = (of.count + kWarp - 1) / kWarp;
  const int first = lane * each, end = first + each < of.count ? first + each : of.count;
  const auto windows_of = [&](int t) {
    const std::int64_t lookups = of.offsets[(t + 1) * of.bags] - of.offsets[t * of.bags];
    return WindowedTables::windows_for(lookups, window_of(lanes_of<width>(of.tables[t].dim)));
  };
  std::int64_t own = 0;
  for (int t = first; t < end; ++t) own += windows_of(t);
  std::int64_t until = own;
  for (int offset = 1; offset < static_cast<int>(kWarp); offset *= 2) {
    const std::int64_t before = __shfl_sync(kWholeWarp, until, lane < offset ? lane : lane - offset);
    if (lane >= offset) until += before;
  }
  std::int64_t at = until - own;
  for (int t = first; t < end; ++t) {
    windows[t] = at;
    at += windows_of(t);
  }
  if (lane == kWarp - 1) windows[of.count] = until;
}

// Where the long runs of an update are noted, and its parts' sums meet.
struct LongRuns {
  UpdateWorkspace::Part* parts;
  std::uint32_t* counts;   // of parts, and of places for sums
  std::uint32_t* arrived;  // [place]: parts of a run that are summed, at the first place of the run
  float* sums;             // [place][dim]
  std::int64_t dim;

  __device__ void add(std::int64_t first, std::int64_t end) const {
    const auto number = static_cast<std::uint32_t>((end - first + kLongPart - 1) / kLongPart);
    const std::uint32_t at = atomicAdd(counts, number);
    const std::uint32_t place = number > 1 ? atomicAdd(counts + 1, number) : 0;
    if (number > 1) arrived[place] = 0;
    for (std::uint32_t i = 0; i < number; ++i) {
      const std::int64_t begin = first + i * kLongPart, next = begin + kLongPart;
      parts[at + i] = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(next < end ? next : end), place, i,
                       number};
    }
  }
};

}  // namespace shardsim::cuda
