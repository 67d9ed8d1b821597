#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/program/program.h"
#include "validate/execute/buffers/rank_buffers.h"
#include "validate/execute/devices/cuda_id_wire.h"
#include "validate/execute/devices/nccl_set.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// The rows, ids and buffers of one fusion on a GPU, and its operations, each launched on a stream: the twin of
// CpuFusion. The ids served have three buffers that take turns, as a pipeline may exchange the next ones while the
// update of this iteration still reads its own.
class CudaFusion {
 public:
  // Draws the ids of all batches and fills the rows with some numbers.
  CudaFusion(const Program& program, FusionBuffers buffers, int rank, const OptimizerSettings& settings);

  void exchange_ids(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix, int iteration,
                    cuda::Stream stream);
  void lookup(int iteration, cuda::Stream stream);
  void exchange_output(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix,
                       cuda::Stream stream);
  void exchange_gradients(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix,
                          cuda::Stream stream);
  void update(int iteration, cuda::Stream stream);  // fused, or the summed gradient of replicated rows
  void reduce(NcclSet& nccl, const NcclSeat& seat, const Op& op, cuda::Stream stream);
  void apply(int iteration, cuda::Stream stream);

  const FusionBuffers& sizes() const { return buffers_; }
  std::int64_t bytes() const;

  // As Machine has them; nothing may be running.
  std::vector<float> gathered() const;
  std::vector<float> shard_rows(int shard) const;
  void load_rows(int shard, const std::vector<float>& rows);
  void load_gradients(const std::vector<float>& gradients);

 private:
  static constexpr int kTurns = 3;

  const std::int64_t* asked(int iteration) const;
  const std::int64_t* served(int iteration) const;
  bool replicated() const { return buffers_.fusion.apply >= 0; }
  const cuda::DeviceBuffer& looked_up() const { return buffers_.exchanges() ? served_rows_ : gathered_rows_; }
  const cuda::DeviceBuffer& served_gradients() const {
    return buffers_.exchanges() ? gradients_served_ : gradients_asked_;
  }
  void draw(const Program& program, int rank);
  void fill(std::uint64_t seed);

  FusionBuffers buffers_;
  OptimizerSettings settings_;
  int batches_ = 1;
  cuda::DeviceBuffer asked_;  // [batch][asked]
  cuda::DeviceBuffer served_[kTurns];
  CudaIdWire id_wire_;
  cuda::DeviceBuffer arena_, state_;
  cuda::DeviceBuffer served_rows_, gathered_rows_;
  cuda::DeviceBuffer gradients_asked_, gradients_served_, dense_gradient_;
  cuda::UpdateWorkspace workspace_;
};

}  // namespace shardsim
