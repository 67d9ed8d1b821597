#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace shardsim::on_cpu {

// Runs `work` on the stream's own thread after all that was given to it before; on the null stream at once. Does
// nothing once the GPU is broken.
void enqueue(cudaStream_t stream, std::function<void()> work);

// Every later call of the runtime fails, as after an access to foreign memory.
void break_gpu();

// The error that every call returns by now.
cudaError_t broken();

// Runs a kernel's grid on the stream; the fibers of one kernel run at a time.
void launch_kernel(cudaStream_t stream, std::function<void()> grid);

}  // namespace shardsim::on_cpu
