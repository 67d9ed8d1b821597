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

}  // namespace shardsim
