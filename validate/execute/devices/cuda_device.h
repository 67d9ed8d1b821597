#pragma once

#include <memory>
#include <string>

#include "validate/execute/devices/cuda_stream_queue.h"
#include "validate/execute/devices/device_port.h"
#include "validate/execute/devices/nccl_set.h"

namespace shardsim {

std::string driver_version();                // of the kernel module: the runtime knows only which CUDA it supports
std::string cuda_version_text(int version);  // 12040, as CUDA writes it, is "12.4"

// The memory and the kernels of one GPU; calls are launched on the streams of a queue and collectives go by NCCL.
// Limits of its kernels: kernels/cuda_embedding.h.
class CudaPort : public DevicePort {
 public:
  virtual void connect(NcclSet& nccl) = 0;  // before the first collective
};
std::unique_ptr<CudaPort> make_cuda_device(const Program& program, int rank, const CudaStreamQueue& queue);

}  // namespace shardsim
