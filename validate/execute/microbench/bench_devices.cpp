#include <array>

#include "validate/execute/microbench/bench_device.h"
#include "validate/execute/microbench/cpu_bench_device.h"
#ifdef SHARDSIM_CUDA
#include "validate/execute/microbench/cuda_bench_device.h"
#endif

namespace shardsim {

std::span<const BenchDeviceEntry> bench_devices() {
  static const std::array kDevices{
      BenchDeviceEntry{"cpu", "threads of this process", make_cpu_bench_device},
#ifdef SHARDSIM_CUDA
      BenchDeviceEntry{"cuda", "the current CUDA device", make_cuda_bench_device},
#endif
  };
  return kDevices;
}

}  // namespace shardsim
