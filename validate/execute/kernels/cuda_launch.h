#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "validate/execute/kernels/cuda_memory.h"
#include "validate/execute/kernels/cuda_shape.h"
#include "validate/execute/kernels/cuda_start.h"

namespace shardsim::cuda {

struct Shape {
  std::int64_t blocks = 1;  // below 2^31
  int layers = 1;           // of blocks
  dim3 threads = dim3(kThreads);
  std::size_t shared_bytes = 0;
};

// Launches on `stream`; a shape without blocks launches nothing.
template <typename... Parameters, typename... Arguments>
void launch(const char* what, void (*kernel)(Parameters...), const Shape& shape, Stream stream,
            const Arguments&... arguments) {
  if (shape.blocks <= 0 || shape.layers <= 0) return;
  const dim3 grid(static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.layers));
  start(kernel, grid, shape.threads, shape.shared_bytes, stream, arguments...);
  check_launch(what);
}

// A block of rows of `lanes` threads.
inline dim3 row_block(unsigned lanes) {
  return dim3(lanes, kThreads / lanes);
}

}  // namespace shardsim::cuda
