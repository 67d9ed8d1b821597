#pragma once

#include <cuda_runtime.h>

namespace shardsim::cuda {

// The launch itself, apart from the rest so that tests can put a CPU's in its place.
template <typename Kernel, typename... Arguments>
void start(Kernel kernel, const dim3& grid, const dim3& block, std::size_t shared_bytes, cudaStream_t stream,
           const Arguments&... arguments) {
  kernel<<<grid, block, shared_bytes, stream>>>(arguments...);
}

}  // namespace shardsim::cuda
