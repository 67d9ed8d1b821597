#pragma once

#include <cstdint>
#include <vector>

#include "validate/execute/fusion/rank_rows.h"
#include "validate/execute/kernels/cuda_memory.h"

namespace shardsim {

// Buffers of floats on the device, of at least so many bytes; `what` names them where memory runs out. Errors: those of
// cuda::DeviceBuffer.
cuda::DeviceBuffer cleared(std::int64_t bytes, const char* what);
// Gradients of some size; the same number everywhere does not change what it costs to sum them.
cuda::DeviceBuffer half_everywhere(std::int64_t bytes, const char* what);
cuda::DeviceBuffer uploaded(const std::vector<std::int64_t>& values, const char* what);

// Rows of fp32, the only ones that are compared: those of a shard (none where the rank holds none of it), and others in
// their place. Nothing may be running.
std::vector<float> rows_of(const cuda::DeviceBuffer& arena, const RankRows& held, int shard);
void put_rows(const cuda::DeviceBuffer& arena, const RankRows& held, int shard, const std::vector<float>& rows);

inline std::size_t size(std::int64_t bytes) {
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
}

}  // namespace shardsim
