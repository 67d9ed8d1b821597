// The devices of a build with CUDA.
#include <array>

#include "validate/microbench/bench_device.h"

namespace shardsim {

std::span<const BenchDeviceEntry> bench_devices() {
  static const std::array kDevices{
      BenchDeviceEntry{"cpu", "threads of this process", make_cpu_bench_device},
      BenchDeviceEntry{"cuda", "the current CUDA device", make_cuda_bench_device, bench_cuda_collectives,
                       call_cuda_collectives},
  };
  return kDevices;
}

}  // namespace shardsim
