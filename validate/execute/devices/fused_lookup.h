#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "validate/execute/devices/device_port.h"

namespace shardsim {

using Action = std::function<void(int iteration)>;  // what an operation does on a rank

// The rows, ids and vectors of one fusion on one rank, and what its operations do, on any device; sequences and pooled
// lookups alike. `part`: which of the fusion's lookups; `iteration` counts from 0. The ids served have three buffers
// that take turns: a pipeline exchanges the next ones while the last update still reads its own.
class FusedLookup {
 public:
  // Draws the ids of all batches and fills the rows with some numbers. The Program and the device must outlive this.
  // Errors: those of the device; Failure::input where a call is beyond the limits of its kernels.
  FusedLookup(const Program& program, LookupBuffers buffers, int rank, bool check_data, DevicePort& device);
  FusedLookup(const FusedLookup&) = delete;
  FusedLookup& operator=(const FusedLookup&) = delete;

  // Says what the operations of the fusion that this rank takes part in do: [op].
  void add_actions(std::vector<Action>& actions);

  const Fusion& fusion() const { return buffers_.fusion; }
  std::int64_t bytes() const { return bytes_; }

  // As RankOps has them.
  std::vector<float> gathered() const;
  std::vector<float> shard_rows(int shard) const;
  void load_rows(int shard, const std::vector<float>& rows);
  void load_gradients(const std::vector<float>& gradients);

 private:
  static constexpr int kTurns = 3;

  DeviceMemory reserve(std::int64_t bytes, const char* what, float value = 0);
  DeviceMemory uploaded(const std::vector<std::int64_t>& ids, const char* what);
  void draw(const Program& program, int rank);
  void reserve_vectors();
  template <typename Act>
  void set(std::vector<Action>& actions, int op, Act act);

  const std::int64_t* asked(int iteration) const;
  const std::int64_t* ids_of(const LookupCall& call, int iteration) const;
  void exchange_ids(const Op& op, int iteration);
  void lookup(std::size_t part, int iteration, int stream);
  const float* gradients_of(const LookupCall& call, int stream);
  void update(std::size_t part, int iteration, int stream);  // fused, or the summed gradient
  void sum_gradients(std::size_t call, int iteration, int stream);
  void apply(std::size_t part, int iteration, int stream);
  void apply_rows(std::size_t call, int stream);

  const Program& program_;
  int rank_ = 0;
  DevicePort& device_;
  LookupBuffers buffers_;
  std::vector<OptimizerSettings> settings_;  // [part]
  int batches_ = 1;
  std::int64_t bytes_ = 0;  // of device memory
  std::vector<std::unique_ptr<DeviceCall>> calls_;
  std::vector<DeviceMemory> states_;  // [call]
  DeviceMemory asked_;                // [batch][asked]; without an exchange in the order of the calls
  DeviceMemory served_[kTurns];
  DeviceMemory order_, ids_came_;        // ids in the order of the wire, where that is not the order of the calls
  DeviceMemory narrow_in_, narrow_out_;  // ids of 4 bytes on the wire
  DeviceMemory arena_;
  DeviceMemory vectors_, returned_, gradients_, gradients_asked_;
  DeviceMemory block_;  // vectors of one call, where chunks have several
  DeviceMemory dense_gradient_;
};

}  // namespace shardsim
