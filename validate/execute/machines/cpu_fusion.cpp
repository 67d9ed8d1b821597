#include "validate/execute/machines/cpu_fusion.h"

#include <algorithm>
#include <cstring>

#include "validate/execute/id_streams.h"
#include "validate/execute/kernels/cpu_embedding.h"
#include "validate/execute/machines/cpu_rows.h"

namespace shardsim {
OptimizerSettings optimizer_settings(const std::string& optimizer, bool check_data, const Place& place) {
  OptimizerSettings settings;
  if (check_data) {
    settings.learning_rate = 1;
    return settings;
  }
  if (optimizer == "sgd") {
    settings.optimizer = RowOptimizer::sgd;
  } else if (optimizer == "rowwise_adagrad") {
    settings.optimizer = RowOptimizer::rowwise_adagrad;
  } else if (optimizer == "adam") {
    settings.optimizer = RowOptimizer::adam;
  } else {
    throw input_error(place, "updates with optimizer '" + optimizer + "', which the executor has no kernel for",
                      "It has sgd, rowwise_adagrad and adam");
  }
  return settings;
}

OptimizerSettings update_settings(const Program& program, int gradient, int apply, bool check_data) {
  const int update = apply >= 0 ? apply : gradient;
  if (update < 0) return {};
  const Op& op = program.ops[static_cast<std::size_t>(update)];
  return optimizer_settings(op.optimizer, check_data, {op.name});
}

std::vector<OptimizerSettings> part_settings(const Program& program, const Fusion& fusion, bool check_data) {
  std::vector<OptimizerSettings> settings;
  for (const Fusion::Part& part : fusion.parts) {
    settings.push_back(update_settings(program, part.gradient, part.apply, check_data));
  }
  return settings;
}

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
  if (buffers_.id_bytes == 8) return;
  id_wire_in_.resize(static_cast<std::size_t>(buffers_.asked * buffers_.id_bytes));
  id_wire_out_.resize(static_cast<std::size_t>(buffers_.served * buffers_.id_bytes));
}

void CpuFusion::exchange_ids(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, int iteration) {
  const Ids& from = asked(iteration);
  Ids& to = served_[iteration % 3];
  if (buffers_.id_bytes == 8) {
    all_to_all(wire, seat, matrix, reinterpret_cast<const std::byte*>(from.data()),
               reinterpret_cast<std::byte*>(to.data()));
    return;
  }
  convert_ids<std::int64_t, std::int32_t>(from.data(), id_wire_in_.data(), from.size());
  all_to_all(wire, seat, matrix, id_wire_in_.data(), id_wire_out_.data());
  convert_ids<std::int32_t, std::int64_t>(id_wire_out_.data(), to.data(), to.size());
}

void CpuFusion::lookup(int iteration) {
  gather_rows(buffers_.type, buffers_.rows.rows, buffers_.dim, arena_.data(), served(iteration), looked_up().data(),
              threads_);
}

void CpuFusion::exchange_rows(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix) {
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

void CpuFusion::apply() {
  update_dense(buffers_.type, buffers_.rows.rows, buffers_.dim, arena_.data(), state_.data(), dense_gradient_.data(),
               settings_, threads_);
}

std::int64_t CpuFusion::bytes() const {
  std::size_t sum = id_wire_in_.size() + id_wire_out_.size() + arena_.size() + served_rows_.size() +
                    gathered_rows_.size() + 3 * served_[0].size() * sizeof(std::int64_t);
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
  for (const RankRows::Part& part : buffers_.rows.parts) {
    if (part.shard != shard) continue;
    std::vector<float> rows(static_cast<std::size_t>(part.rows * buffers_.dim));
    std::memcpy(rows.data(), arena_.data() + part.first_row * buffers_.row_bytes(), rows.size() * sizeof(float));
    return rows;
  }
  return {};
}

void CpuFusion::load_rows(int shard, const std::vector<float>& rows) {
  for (const RankRows::Part& part : buffers_.rows.parts) {
    if (part.shard != shard) continue;
    std::memcpy(arena_.data() + part.first_row * buffers_.row_bytes(), rows.data(), rows.size() * sizeof(float));
  }
}

void CpuFusion::load_gradients(const std::vector<float>& gradients) {
  std::copy(gradients.begin(), gradients.end(), gradients_asked_.begin());
}

}  // namespace shardsim
