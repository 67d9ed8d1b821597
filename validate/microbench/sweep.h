#pragma once

#include <cstdint>
#include <vector>

#include "validate/microbench/bench_point.h"

namespace shardsim {

// Which points a sweep runs. All are drawn from the seed alone, and leave out what needs more than `memory` bytes.

// A few dozen small points of every kind, enough to fit a roofline: a minute on two cores.
std::vector<BenchPoint> quick_sweep(std::int64_t memory);

// The whole sweep: every value of every axis around T8, E 1e6, D64, L32, B8192; `hypercube` shapes of a Latin hypercube
// over all axes; `mixed` calls of unequal tables; the shapes of published measurements; sequence kernels; products of
// matrices. Shapes with tables are timed forward, backward, and both.
struct SweepSize {
  int hypercube = 500;
  int mixed = 200;
};
std::vector<BenchPoint> full_sweep(std::int64_t memory, std::uint64_t seed, const SweepSize& size = {});

}  // namespace shardsim
