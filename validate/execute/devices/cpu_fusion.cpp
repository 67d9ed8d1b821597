#include "validate/execute/devices/cpu_fusion.h"

#include <algorithm>
#include <cstring>

#include "validate/execute/devices/cpu_rows.h"
#include "validate/execute/fusion/id_streams.h"
#include "validate/execute/kernels/cpu_embedding.h"

namespace shardsim {

CpuFusion::CpuFusion(const Program& program, FusionBuffers buffers, int rank, const OptimizerSettings& settings,
                     int threads)
    : buffers_(std::move(buffers)), settings_(settings), threads_(threads) {
  for (int batch = 0; batch < program.index_batches; ++batch) {
    asked_.push_back(draw_ids(program, buffers_.fusion, rank, batch).ids);
  }
  arena_.resize(static_cast<std::size_t>(buffers_.rows.rows * buffers_.row_bytes()));
  fill_rows(arena_, buffers_.type, program.seed);
  state_.resize(state_elements(settings_.optimizer, buffers_.rows.rows, buffers_.dim));
  gradients_asked_.assign(floats(buffers_.gradient_asked_bytes), 0.5F);
  if (replicated())
    dense_gradient_.resize(floats(std::max(buffers_.rows.rows * buffers_.dim * 4, buffers_.reduced_bytes)));
  gathered_rows_.resize(
      static_cast<std::size_t>(buffers_.exchanges() ? buffers_.gathered_bytes : buffers_.served_bytes));
  if (!buffers_.exchanges()) return;
  served_rows_.resize(static_cast<std::size_t>(buffers_.served_bytes));
  gradients_served_.assign(floats(buffers_.gradient_served_bytes), 0.5F);
  for (Ids& ids : served_) ids.resize(static_cast<std::size_t>(buffers_.served));
  id_wire_ = CpuIdWire(buffers_.asked, buffers_.served, buffers_.id_bytes);
}

void CpuFusion::exchange_ids(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, int iteration) {
  id_wire_.exchange(wire, seat, matrix, asked(iteration), served_[iteration % 3]);
}

void CpuFusion::lookup(int iteration) {
  gather_rows(buffers_.type, buffers_.rows.rows, buffers_.dim, arena_.data(), served(iteration), looked_up().data(),
              threads_);
}

void CpuFusion::exchange_output(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix) {
  all_to_all(wire, seat, matrix, served_rows_.data(), gathered_rows_.data());
}

void CpuFusion::exchange_gradients(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix) {
  all_to_all(wire, seat, matrix, reinterpret_cast<const std::byte*>(gradients_asked_.data()),
             reinterpret_cast<std::byte*>(gradients_served_.data()));
}

void CpuFusion::update(int iteration) {
  if (replicated()) {
    std::fill(dense_gradient_.begin(), dense_gradient_.end(), 0.0F);
    scatter_add(buffers_.rows.rows, buffers_.dim, served(iteration), served_gradients().data(), dense_gradient_.data(),
                threads_);
    return;
  }
  settings_.step = iteration + 1;
  update_rows(buffers_.type, buffers_.rows.rows, buffers_.dim, arena_.data(), state_.data(), served(iteration),
              served_gradients().data(), settings_, threads_);
}

// The largest shard sets the payload; a smaller one sends zeros behind its rows.
void CpuFusion::reduce(Wire& wire, const GroupSeat& seat, std::vector<float>& scratch) {
  all_reduce(wire, seat, dense_gradient_.data(), floats(buffers_.reduced_bytes), scratch);
}

void CpuFusion::apply(int iteration) {
  settings_.step = iteration + 1;
  update_dense(buffers_.type, buffers_.rows.rows, buffers_.dim, arena_.data(), state_.data(), dense_gradient_.data(),
               settings_, threads_);
}

std::int64_t CpuFusion::bytes() const {
  std::size_t sum = id_wire_.bytes() + arena_.size() + served_rows_.size() + gathered_rows_.size() +
                    3 * served_[0].size() * sizeof(std::int64_t);
  for (const Ids& ids : asked_) sum += ids.size() * sizeof(std::int64_t);
  for (const auto* values : {&state_, &gradients_asked_, &gradients_served_, &dense_gradient_}) {
    sum += values->size() * sizeof(float);
  }
  return static_cast<std::int64_t>(sum);
}

std::vector<float> CpuFusion::gathered() const {
  std::vector<float> rows(static_cast<std::size_t>(buffers_.asked * buffers_.dim));
  std::memcpy(rows.data(), gathered_rows_.data(), rows.size() * sizeof(float));
  return rows;
}

std::vector<float> CpuFusion::shard_rows(int shard) const {
  return rows_of(arena_, buffers_.rows, shard);
}

void CpuFusion::load_rows(int shard, const std::vector<float>& rows) {
  put_rows(arena_, buffers_.rows, shard, rows);
}

void CpuFusion::load_gradients(const std::vector<float>& gradients) {
  std::copy(gradients.begin(), gradients.end(), gradients_asked_.begin());
}

}  // namespace shardsim
