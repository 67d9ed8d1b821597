#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/program.h"

namespace shardsim {

// Bytes of the buffers that the operations of a Program write and read, one number for all ranks or one per rank.
using BytesByRank = std::vector<std::int64_t>;

inline std::int64_t bytes_at(const BytesByRank& bytes, int rank) {
  return bytes.size() == 1 ? bytes[0] : bytes[static_cast<std::size_t>(rank)];
}

// A part of what a pass moves: it reads as much as it writes.
BytesByRank half_of(const PerRank& moved);

// An all_to_all, a reduce_scatter or an all_gather: what a rank gives to it, and what it gets, own chunk included.
BytesByRank given_to(const Program& program, const Op& exchange);
BytesByRank got_from(const Program& program, const Op& exchange);

// Vectors that a lookup writes, in the tables' types.
BytesByRank vectors_of(const Program& program, const Op& lookup);

// A gradient as large as the rows that the operation's shards have on each rank.
BytesByRank dense_gradient_of(const Program& program, const Op& gradient);

}  // namespace shardsim
