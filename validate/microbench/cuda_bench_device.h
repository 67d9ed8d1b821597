#pragma once

#include <memory>

#include "validate/microbench/bench_device.h"

namespace shardsim {

// The first GPU that this process sees (CUDA_VISIBLE_DEVICES chooses it). `threads` does not matter. Errors:
// Failure::run when there is no GPU.
std::unique_ptr<BenchDevice> make_cuda_bench_device(int threads);

}  // namespace shardsim
