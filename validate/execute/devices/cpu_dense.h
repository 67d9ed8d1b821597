#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

}  // namespace shardsim
