#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "validate/microbench/bench_point.h"

namespace shardsim {

// Positions 0 ... n - 1 with probability in proportion to (position + 1)^-exponent, in constant time and memory:
// rejection-inversion (W. Hoermann, G. Derflinger, ACM TOMACS 6(3), 1996, 169-184). exponent above 0.
class ZipfDraw {
 public:
  ZipfDraw(std::int64_t n, double exponent);
  std::int64_t draw(Rng& rng) const;

 private:
  double integral(double x) const;  // of x^-exponent, up to a constant
  double inverse(double y) const;   // of integral
  double height(double x) const;

  double n_;
  double exponent_;
  double low_, high_;  // integral at 1.5 less the height at 1, and at n + 0.5
  double sure_;        // a draw so near to its rank is always taken
};

// The indices of one batch, as TableBatch has them (gather and scatter: `indices` alone). Same point, same seed, same
// indices on every machine.
struct BenchInput {
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> offsets;   // [tables x batch + 1]
  std::vector<std::int64_t> distinct;  // [tables]: different rows
  // The shares of the distinct rows that were met once, twice, 3-4, 5-8 ... 16385-32768 times in this batch, and more
  // often.
  std::vector<double> access_histogram;  // [17], over all tables
};

BenchInput draw_input(const BenchPoint& point, std::uint64_t seed);

}  // namespace shardsim
