#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/program/program.h"
#include "validate/execute/buffers/rank_buffers.h"
#include "validate/execute/devices/cpu_id_wire.h"
#include "validate/execute/kernels/embedding.h"
#include "validate/execute/wires/cpu_collectives.h"

namespace shardsim {

// The rows, ids and buffers of one fusion on a CPU rank, and its operations. `iteration` counts from 0; the ids served
// have three buffers that take turns: a pipeline exchanges the next ones while the last update still reads its own.
class CpuFusion {
 public:
  // Draws the ids of all batches and fills the rows with some numbers.
  CpuFusion(const Program& program, FusionBuffers buffers, int rank, const OptimizerSettings& settings, int threads);

  void exchange_ids(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, int iteration);
  void lookup(int iteration);
  void exchange_output(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix);
  void exchange_gradients(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix);
  void update(int iteration);  // fused, or the summed gradient of replicated rows
  void reduce(Wire& wire, const GroupSeat& seat, std::vector<float>& scratch);
  void apply(int iteration);

  const FusionBuffers& sizes() const { return buffers_; }
  std::int64_t bytes() const;
  std::vector<float> gathered() const;
  std::vector<float> shard_rows(int shard) const;
  void load_rows(int shard, const std::vector<float>& rows);
  void load_gradients(const std::vector<float>& gradients);

 private:
  using Ids = std::vector<std::int64_t>;

  const Ids& asked(int iteration) const { return asked_[iteration % asked_.size()]; }
  const Ids& served(int iteration) const { return buffers_.exchanges() ? served_[iteration % 3] : asked(iteration); }
  bool replicated() const { return buffers_.fusion.apply >= 0; }
  std::vector<std::byte>& looked_up() { return buffers_.exchanges() ? served_rows_ : gathered_rows_; }
  const std::vector<float>& served_gradients() const {
    return buffers_.exchanges() ? gradients_served_ : gradients_asked_;
  }

  FusionBuffers buffers_;
  OptimizerSettings settings_;
  int threads_ = 1;
  std::vector<Ids> asked_;  // [batch]
  Ids served_[3];
  CpuIdWire id_wire_;
  std::vector<std::byte> arena_;
  std::vector<float> state_;
  std::vector<std::byte> served_rows_, gathered_rows_;
  std::vector<float> gradients_asked_, gradients_served_;
  std::vector<float> dense_gradient_;
};

}  // namespace shardsim
