#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/program/program.h"
#include "validate/execute/buffers/pooled_buffers.h"
#include "validate/execute/devices/cuda_id_wire.h"
#include "validate/execute/devices/nccl_set.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// The rows, ids and vectors of one pooled fusion on a GPU, and its operations, each launched on a stream: the twin of
// CpuPooled. `part`: which of the fusion's lookups.
class CudaPooled {
 public:
  // Draws the ids of all batches and fills the rows with some numbers. `settings`: of each part.
  // Errors: Failure::input where a call is beyond the limits of the kernels (cuda_embedding.h).
  CudaPooled(const Program& program, PooledBuffers buffers, int rank, std::vector<OptimizerSettings> settings);

  void exchange_ids(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix, int iteration,
                    cuda::Stream stream);
  void lookup(std::size_t part, int iteration, cuda::Stream stream);
  void exchange_output(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix,
                       cuda::Stream stream);
  void exchange_gradients(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix,
                          cuda::Stream stream);
  void update(std::size_t part, int iteration, cuda::Stream stream);  // fused, or the summed gradient
  void reduce(std::size_t which, NcclSet& nccl, const NcclSeat& seat, const Op& op, cuda::Stream stream);
  void apply(std::size_t part, int iteration, cuda::Stream stream);

  void* vectors() const { return vectors_.data(); }      // served, for the reduce_scatter
  void* gradients() const { return gradients_.data(); }  // of those, for the all_gather

  const PooledBuffers& sizes() const { return buffers_; }
  std::int64_t bytes() const;

  // As Machine has them; nothing may be running.
  std::vector<float> gathered() const;
  std::vector<float> shard_rows(int shard) const;
  void load_rows(int shard, const std::vector<float>& rows);
  void load_gradients(const std::vector<float>& gradients);

 private:
  static constexpr int kTurns = 3;

  // What a call of the kernels needs in device memory.
  struct DeviceCall {
    const PooledCall& call;
    std::size_t part;
    cuda::DeviceTables tables;
    cuda::DeviceTables dense;  // the same rows in the dense gradient, of fp32
    cuda::DeviceBuffer offsets, state;
  };

  void draw(const Program& program, int rank);
  void fill(std::uint64_t seed);
  void add_call(const PooledCall& call);
  const std::int64_t* ids_of(const DeviceCall& of, int iteration) const;
  const float* gradients_of(const DeviceCall& of, cuda::Stream stream) const;
  void sum_gradients(const DeviceCall& of, int iteration, cuda::Stream stream) const;
  void apply_rows(const DeviceCall& of, cuda::Stream stream) const;

  PooledBuffers buffers_;
  std::vector<OptimizerSettings> settings_;  // [part]
  int batches_ = 1;
  std::vector<std::unique_ptr<DeviceCall>> calls_;
  cuda::DeviceBuffer asked_;  // [batch][asked]; without an exchange in the order of the calls
  cuda::DeviceBuffer served_[kTurns];
  cuda::DeviceBuffer order_, wire_ids_;
  CudaIdWire id_wire_;
  cuda::DeviceBuffer arena_;
  cuda::DeviceBuffer vectors_, returned_, gradients_, gradients_asked_;
  cuda::DeviceBuffer block_;  // of one call, where chunks have several
  cuda::DeviceBuffer dense_gradient_;
  cuda::UpdateWorkspace workspace_;
};

}  // namespace shardsim
