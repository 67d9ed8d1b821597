#pragma once

#include <memory>

#include "validate/microbench/bench_device.h"

namespace shardsim {

// The CPU kernels on `threads` threads of this process (0: as many as there are processors). Collectives are not its.
std::unique_ptr<BenchDevice> make_cpu_bench_device(int threads);

}  // namespace shardsim
