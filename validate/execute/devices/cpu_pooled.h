#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/program/program.h"
#include "validate/execute/buffers/pooled_buffers.h"
#include "validate/execute/devices/cpu_id_wire.h"
#include "validate/execute/kernels/embedding.h"
#include "validate/execute/wires/cpu_collectives.h"

namespace shardsim {

// The rows, ids and vectors of one pooled fusion on a CPU rank, and its operations: what CpuFusion is to sequences.
// `part`: which of the fusion's lookups. The ids served have three buffers that take turns, as there.
class CpuPooled {
 public:
  // Draws the ids of all batches and fills the rows with some numbers. `settings`: of each part.
  CpuPooled(const Program& program, PooledBuffers buffers, int rank, std::vector<OptimizerSettings> settings,
            int threads);

  void exchange_ids(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, int iteration);
  void lookup(std::size_t part, int iteration);
  void scatter(Wire& wire, const GroupSeat& seat, std::int64_t bytes, std::vector<float>& scratch);
  void exchange_output(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix);
  void exchange_gradients(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix);
  void gather(Wire& wire, const GroupSeat& seat, std::int64_t bytes);
  void update(std::size_t part, int iteration);  // fused, or the summed gradient
  void reduce(std::size_t which, Wire& wire, const GroupSeat& seat, std::vector<float>& scratch);
  void apply(std::size_t part, int iteration);

  const PooledBuffers& sizes() const { return buffers_; }
  std::int64_t bytes() const;
  std::vector<float> gathered() const;
  std::vector<float> shard_rows(int shard) const;
  void load_rows(int shard, const std::vector<float>& rows);
  void load_gradients(const std::vector<float>& gradients);

 private:
  using Ids = std::vector<std::int64_t>;

  const Ids& served(int iteration) const {
    return buffers_.exchanges() ? served_[iteration % 3] : asked_[iteration % asked_.size()];
  }
  std::span<const std::int64_t> ids_of(const PooledCall& call, int iteration) const;
  float* own_gradients() { return gradients_.data() + buffers_.own_gradients / 4; }
  void draw(const Program& program, int rank);
  void put_in_order(const Ids& from, Ids& to) const;
  void look_up(const PooledCall& call, int iteration);
  const float* gradients_of(const PooledCall& call);
  void sum_gradients(const PooledCall& call, int iteration);
  void apply_rows(std::size_t call);

  PooledBuffers buffers_;
  std::vector<OptimizerSettings> settings_;  // [part]
  int threads_ = 1;
  std::vector<Ids> asked_;  // [batch]; without an exchange in the order of the calls
  Ids served_[3];
  Ids wire_ids_;  // as they came
  CpuIdWire id_wire_;
  std::vector<std::byte> arena_;
  std::vector<std::vector<float>> states_;  // [call]
  std::vector<float> vectors_, returned_;   // served; of the own batch where they come from others
  std::vector<float> gradients_, gradients_asked_;
  std::vector<float> block_;  // of one call, where chunks have several
  std::vector<float> dense_gradient_;
};

}  // namespace shardsim
