#pragma once

#include <cstdint>
#include <vector>

#include "validate/execute/microbench/bench_point.h"

namespace shardsim {

// The indices of one batch, as TableBatch has them (gather and scatter: `indices` alone). Same point, same seed, same
// indices on every machine.
struct BenchInput {
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> offsets;   // [tables x batch + 1]
  std::vector<std::int64_t> distinct;  // [tables]: different rows
  // Shares of the accesses that go to rows accessed once, twice, 3-4, 5-8 ... times in this batch, over all tables.
  std::vector<double> access_histogram;  // [17]
};

BenchInput draw_input(const BenchPoint& point, std::uint64_t seed);

}  // namespace shardsim
