#pragma once

#include <cstdint>
#include <vector>

#include "models/workload/workload.h"
#include "program/program.h"
#include "sim/memory/memory_profile.h"

namespace shardsim {

// One number for all ranks or one per rank.
using BytesByRank = std::vector<std::int64_t>;

inline std::int64_t bytes_at(const BytesByRank& bytes, int rank) {
  return bytes.size() == 1 ? bytes[0] : bytes[static_cast<std::size_t>(rank)];
}

// A stretch of device memory that an operation writes and others read: it lives from the start of the one to the end of
// the last of the others, on each rank.
struct Buffer {
  MemoryPart part = MemoryPart::inputs;
  int writer = 0;  // operation
  int ahead = 0;   // batches ahead of the trained one that it is for
  BytesByRank bytes;
  struct Reader {
    int op = 0;
    int later = 0;  // iterations after the writer's
  };
  std::vector<Reader> readers;  // may be empty
};

// The buffers of one iteration (docs/lowering.md, "What device memory holds"). `program` was lowered from `workload`.
std::vector<Buffer> buffers_of(const Program& program, const Workload& workload);

// The sizes of what operations write and read.

// A part of what a pass moves: it reads as much as it writes.
BytesByRank half_of(const PerRank& moved);

// An all_to_all, a reduce_scatter or an all_gather: what a rank gives to it, and what it gets, own chunk included.
BytesByRank moved_by(const Program& program, const Op& exchange, bool given);

// Vectors that a lookup writes, in the tables' types; of HugeCTR in that of the wire.
BytesByRank vectors_of(const Program& program, const Op& lookup);

// A gradient as large as the rows that the operation's shards have on each rank. Where the optimizer passes over
// `all_rows`, whatever has a gradient, that of rows that are not replicated has the rows alone that were looked up, at
// most one for each gradient that is read.
BytesByRank dense_gradient_of(const Program& program, const Op& gradient, bool all_rows);

// The rows that each rank holds of the tables whose rows the operation scatters among replicas, without what fills them
// up.
BytesByRank rows_scattered(const Program& program, const Op& scatter);

}  // namespace shardsim
