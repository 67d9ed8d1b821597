#pragma once

#include <cstdint>
#include <memory>

#include "validate/execute/kernels/cuda_memory.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim {

// Work that stands for the dense operations of one stream of a GPU: so many floating-point operations, so many bytes
// read and written. Sizes are reserved first, so that nothing is allocated later.
class CudaDense {
 public:
  void reserve(double flops, double bytes);
  void compute(double flops, cuda::Stream stream);
  void move(double bytes, cuda::Stream stream);  // read plus written
  std::int64_t bytes() const;

 private:
  std::unique_ptr<cuda::Gemm> gemm_;
  cuda::DeviceBuffer a_, b_, c_, from_, to_;
};

}  // namespace shardsim
