#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "validate/execute/devices/device_port.h"
#include "validate/execute/wires/cpu_collectives.h"

namespace shardsim {

// Work that stands for a dense operation on a CPU rank: so many floating-point operations, so many bytes read and
// written. One per stream: its buffers are not shared.
class CpuDense {
 public:
  explicit CpuDense(int threads) : threads_(threads) {}
  void compute(double flops);
  void move(double bytes);  // read plus written

 private:
  int threads_ = 1;
  std::vector<float> a_, b_, c_;
  std::vector<std::byte> from_, to_;
};

// The memory of this process, kernels of `threads` threads each, collectives over a Wire. Every call is done when it
// returns; calls of different streams may come from different threads.
std::unique_ptr<DevicePort> make_cpu_device(const Program& program, int rank, Wire& wire, int threads);

}  // namespace shardsim
