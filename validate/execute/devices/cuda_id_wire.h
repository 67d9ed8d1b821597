#pragma once

#include <cstdint>

#include "validate/execute/devices/nccl_set.h"
#include "validate/execute/kernels/cuda_memory.h"

namespace shardsim {

// Ids on their way between GPUs: as they are, or narrowed to 4 bytes each.
class CudaIdWire {
 public:
  CudaIdWire() = default;
  CudaIdWire(std::int64_t asked, std::int64_t served, std::int64_t id_bytes);  // counts of this rank

  // `from` and `to`: in device memory, as many as asked and served.
  void exchange(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix, const std::int64_t* from,
                std::int64_t* to, cuda::Stream stream);

  std::size_t bytes() const { return in_.bytes() + out_.bytes(); }

 private:
  std::int64_t asked_ = 0, served_ = 0, id_bytes_ = 8;
  cuda::DeviceBuffer in_, out_;  // ids of 4 bytes
};

}  // namespace shardsim
