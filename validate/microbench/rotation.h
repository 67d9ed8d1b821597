#pragma once

#include <cstdint>
#include <string_view>

#include "validate/microbench/bench_input.h"
#include "validate/microbench/bench_point.h"

namespace shardsim {

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
