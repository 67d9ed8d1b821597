#pragma once

#include <cstdint>
#include <string_view>
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

class BenchDevice;

// The contents of the last-level cache when a call begins: its own rows, the rows of calls on other copies of the same
// point, or what a flush leaves there.
enum class CacheState { warm, rotated, flushed };
std::string_view cache_state_name(CacheState state);  // "warm", "rotated", "flushed"

// Bytes of memory that one call of the point reads or writes at least, each once: the different rows, their states,
// ids, gradients, outputs, and what an update or a sort writes in between. At most these bytes can be in a cache
// because of it.
std::int64_t touched_bytes(const BenchPoint& point, const BenchInput& input);

// The way in which calls of a point are kept from finding their own rows in the last-level cache. Copies of all that a
// call reads and writes are used in turn, so many that the calls between two uses of one copy touch at least twice the
// cache: copies = 1 + 2 x cache / touched, rounded up. Calls can then lie back to back, as those of an iteration do,
// where a flush would have to come between any two of them.
struct Rotation {
  CacheState state = CacheState::flushed;
  int copies = 1;
};

// flushed where the device does not rotate, where the copies need more than half of the memory that points may use,
// and where there would have to be more of them than are worth making.
Rotation rotation_of(const BenchDevice& device, const BenchPoint& point, const BenchInput& input);

}  // namespace shardsim
