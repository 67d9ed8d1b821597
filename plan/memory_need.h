#pragma once

#include <cstdint>
#include <optional>

namespace shardsim {

// Bytes that the fullest GPU of a plan needs, as far as they are known.
struct MemoryNeed {
  std::int64_t by_model = 0;              // by the case's memory model
  std::optional<std::int64_t> peak = {};  // at the peak of a simulated iteration; none: not simulated
  bool buffers_counted = true;            // by the memory model (MemoryModel::counts_buffers)

  // The bytes by which every command judges a plan: its peak where that is known. A memory model that counts rows alone
  // states a limit for rows and not the size of a GPU, so there the rows are judged.
  std::int64_t judged() const { return peak && buffers_counted ? *peak : by_model; }
};

// Bytes beyond `capacity`, which is what a GPU has beside what is reserved (Cluster::memory_per_rank); negative: bytes
// left.
inline std::int64_t bytes_over(const MemoryNeed& need, std::int64_t capacity) {
  return need.judged() - capacity;
}

// True when a plan fits. It must fit by its memory model, too, which refuses a plan before it is simulated.
inline bool fits(const MemoryNeed& need, std::int64_t capacity) {
  return need.by_model <= capacity && bytes_over(need, capacity) <= 0;
}

}  // namespace shardsim
