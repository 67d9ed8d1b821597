#include "validate/execute/devices/cuda_id_wire.h"

#include "validate/execute/devices/cuda_buffers.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim {

CudaIdWire::CudaIdWire(std::int64_t asked, std::int64_t served, std::int64_t id_bytes)
    : asked_(asked), served_(served), id_bytes_(id_bytes) {
  if (id_bytes == 8) return;
  in_ = cleared(asked * id_bytes, "ids on the wire");
  out_ = cleared(served * id_bytes, "ids on the wire");
}

void CudaIdWire::exchange(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix,
                          const std::int64_t* from, std::int64_t* to, cuda::Stream stream) {
  if (id_bytes_ == 8) return nccl.all_to_all(seat, op, matrix, from, to, stream);
  cuda::narrow_ids(from, asked_, in_.as<std::int32_t>(), stream);
  nccl.all_to_all(seat, op, matrix, in_.data(), out_.data(), stream);
  cuda::widen_ids(out_.as<std::int32_t>(), served_, to, stream);
}

}  // namespace shardsim
