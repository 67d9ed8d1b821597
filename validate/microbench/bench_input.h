#pragma once

#include <cstdint>
#include <vector>

#include "validate/microbench/bench_point.h"

namespace shardsim {

// The indices of one batch, as TableBatch has them (gather and scatter: `indices` alone). Same point, same seed, same
// indices on every machine.
struct BenchInput {
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> offsets;   // [tables x batch + 1]
  std::vector<std::int64_t> distinct;  // [tables]: different rows
  // Of the distinct rows, the shares met once, twice, 3-4, 5-8 ... 16385-32768 times in this batch, and more often.
  std::vector<double> access_histogram;  // [17], over all tables
};

BenchInput draw_input(const BenchPoint& point, std::uint64_t seed);

}  // namespace shardsim
