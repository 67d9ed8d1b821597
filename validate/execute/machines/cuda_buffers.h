#pragma once

#include <cstdint>
#include <vector>

#include "validate/execute/kernels/cuda_memory.h"

namespace shardsim {

// Buffers of floats on the device, of at least so many bytes; `what` names them where memory runs out. Errors: those of
// cuda::DeviceBuffer.
cuda::DeviceBuffer cleared(std::int64_t bytes, const char* what);
// Gradients of some size; the same number everywhere does not change what it costs to sum them.
cuda::DeviceBuffer half_everywhere(std::int64_t bytes, const char* what);
cuda::DeviceBuffer uploaded(const std::vector<std::int64_t>& values, const char* what);

inline std::size_t size(std::int64_t bytes) {
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
}

}  // namespace shardsim
