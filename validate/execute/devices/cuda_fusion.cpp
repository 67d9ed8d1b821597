#include "validate/execute/devices/cuda_fusion.h"

#include <algorithm>

#include "validate/execute/devices/cuda_buffers.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim {

using cuda::DeviceBuffer;

CudaFusion::CudaFusion(const Program& program, FusionBuffers buffers, int rank, const OptimizerSettings& settings)
    : buffers_(std::move(buffers)),
      settings_(settings),
      batches_(program.index_batches),
      workspace_(buffers_.served, buffers_.dim) {
  draw(program, rank);
  fill(program.seed);
  const std::int64_t states =
      static_cast<std::int64_t>(state_elements(settings_.optimizer, buffers_.rows.rows, buffers_.dim));
  state_ = cleared(states * 4, "optimizer states");
  gradients_asked_ = half_everywhere(buffers_.gradient_asked_bytes, "gradients");
  if (replicated()) {
    const std::int64_t dense = std::max(buffers_.rows.rows * buffers_.dim * 4, buffers_.reduced_bytes);
    dense_gradient_ = cleared((dense + 3) / 4 * 4, "the summed gradient");
  }
  gathered_rows_ = cleared(buffers_.exchanges() ? buffers_.gathered_bytes : buffers_.served_bytes, "rows gathered");
  if (!buffers_.exchanges()) return;
  served_rows_ = cleared(buffers_.served_bytes, "rows looked up");
  gradients_served_ = half_everywhere(buffers_.gradient_served_bytes, "gradients of the rows served");
  for (DeviceBuffer& ids : served_) ids = cleared(buffers_.served * 8, "ids served");
  id_wire_ = CudaIdWire(buffers_.asked, buffers_.served, buffers_.id_bytes);
}

void CudaFusion::draw(const Program& program, int rank) {
  std::vector<std::int64_t> all;
  for (int batch = 0; batch < batches_; ++batch) {
    std::vector<std::int64_t> ids = draw_ids(program, buffers_.fusion, rank, batch).ids;
    ids.resize(size(buffers_.asked));
    all.insert(all.end(), ids.begin(), ids.end());
  }
  asked_ = DeviceBuffer(all.size() * sizeof(std::int64_t), "ids asked");
  asked_.upload(all.data(), asked_.bytes());
}

void CudaFusion::fill(std::uint64_t seed) {
  arena_ = DeviceBuffer(size(buffers_.rows.rows * buffers_.row_bytes()), "rows of the tables");
  cuda::fill(buffers_.type, buffers_.rows.rows * buffers_.dim, seed, arena_.data(), nullptr);
  cuda::check(cudaDeviceSynchronize(), "filling of tables");
}

const std::int64_t* CudaFusion::asked(int iteration) const {
  return asked_.as<std::int64_t>() + iteration % batches_ * buffers_.asked;
}

const std::int64_t* CudaFusion::served(int iteration) const {
  return buffers_.exchanges() ? served_[iteration % kTurns].as<std::int64_t>() : asked(iteration);
}

void CudaFusion::exchange_ids(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix,
                              int iteration, cuda::Stream stream) {
  id_wire_.exchange(nccl, seat, op, matrix, asked(iteration), served_[iteration % kTurns].as<std::int64_t>(), stream);
}

void CudaFusion::lookup(int iteration, cuda::Stream stream) {
  cuda::gather_rows(buffers_.row_bytes(), arena_.data(), served(iteration), buffers_.served, looked_up().data(),
                    stream);
}

void CudaFusion::exchange_output(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix,
                                 cuda::Stream stream) {
  nccl.all_to_all(seat, op, matrix, served_rows_.data(), gathered_rows_.data(), stream);
}

void CudaFusion::exchange_gradients(NcclSet& nccl, const NcclSeat& seat, const Op& op, const ByteMatrix& matrix,
                                    cuda::Stream stream) {
  nccl.all_to_all(seat, op, matrix, gradients_asked_.data(), gradients_served_.data(), stream);
}

void CudaFusion::update(int iteration, cuda::Stream stream) {
  const std::int64_t rows = buffers_.rows.rows, dim = buffers_.dim, count = buffers_.served;
  const float* gradients = served_gradients().as<float>();
  if (replicated()) {
    cuda::check(cudaMemsetAsync(dense_gradient_.data(), 0, dense_gradient_.bytes(), stream), "clearing of gradients");
    return cuda::scatter_add(rows, dim, served(iteration), count, gradients, dense_gradient_.as<float>(), workspace_,
                             stream);
  }
  settings_.step = iteration + 1;
  cuda::update_rows(buffers_.type, rows, dim, arena_.data(), state_.as<float>(), served(iteration), count, gradients,
                    settings_, workspace_, stream);
}

// The largest shard sets the payload; a smaller one sends zeros behind its rows.
void CudaFusion::reduce(NcclSet& nccl, const NcclSeat& seat, const Op& op, cuda::Stream stream) {
  const auto count = static_cast<std::size_t>((buffers_.reduced_bytes + 3) / 4);
  nccl.all_reduce(seat, op, dense_gradient_.data(), count, ncclFloat, stream);
}

void CudaFusion::apply(int iteration, cuda::Stream stream) {
  settings_.step = iteration + 1;
  cuda::update_dense(buffers_.type, buffers_.rows.rows, buffers_.dim, arena_.data(), state_.as<float>(),
                     dense_gradient_.as<float>(), settings_, stream);
}

std::int64_t CudaFusion::bytes() const {
  std::size_t sum = workspace_.bytes() + id_wire_.bytes();
  for (const DeviceBuffer* buffer : {&asked_, &served_[0], &served_[1], &served_[2], &arena_, &state_, &served_rows_,
                                     &gathered_rows_, &gradients_asked_, &gradients_served_, &dense_gradient_}) {
    sum += buffer->bytes();
  }
  return static_cast<std::int64_t>(sum);
}

std::vector<float> CudaFusion::gathered() const {
  std::vector<float> rows(size(buffers_.asked * buffers_.dim));
  gathered_rows_.download(rows.data(), rows.size() * sizeof(float));
  return rows;
}

std::vector<float> CudaFusion::shard_rows(int shard) const {
  return rows_of(arena_, buffers_.rows, shard);
}

void CudaFusion::load_rows(int shard, const std::vector<float>& rows) {
  put_rows(arena_, buffers_.rows, shard, rows);
}

void CudaFusion::load_gradients(const std::vector<float>& gradients) {
  gradients_asked_.upload(gradients.data(), gradients.size() * sizeof(float));
}

}  // namespace shardsim
