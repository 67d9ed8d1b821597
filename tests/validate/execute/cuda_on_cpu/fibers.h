#pragma once

#include <cuda_runtime.h>

#include <functional>

namespace shardsim::on_cpu {

// Runs `thread` once for every thread of a grid, blocks one after the other. Errors: std::logic_error for a block above
// 1,024 threads or for threads that wait for each other for ever.
void run_grid(const dim3& grid, const dim3& block, const std::function<void()>& thread);

}  // namespace shardsim::on_cpu
