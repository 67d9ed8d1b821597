#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "validate/execute/devices/checked_data.h"
#include "validate/execute/devices/coded_way.h"
#include "validate/execute/devices/device_port.h"
#include "validate/execute/fusion/iteration_programs.h"

namespace shardsim {

using Action = std::function<void(int iteration)>;  // what an operation does on a rank

// The rows, ids and vectors of one fusion on one rank, and what its operations do, on any device; sequences and pooled
// lookups alike. `part`: which of the fusion's lookups; `iteration` counts from 0: that of the batch which an operation
// works on, where a pipeline prepares a later one (Op::batches_ahead). The ids served have three buffers
// that take turns, or one more for each batch that is looked up ahead: a pipeline exchanges the next ones while the
// last update still reads its own. Where iterations have Programs of their own, each has its calls and ids; rows,
// optimizer states and buffers, as large as the largest wants them, are common.
class FusedLookup {
 public:
  // `turns`: the fusion's buffers in each of the Programs. Draws the ids of all batches and fills the rows with some
  // numbers. Programs and device must outlive this. Errors: those of the device; Failure::input where a call is beyond
  // the limits of its kernels.
  FusedLookup(const IterationPrograms& programs, std::vector<LookupBuffers> turns, int rank, bool check_data,
              DevicePort& device);
  FusedLookup(const FusedLookup&) = delete;
  FusedLookup& operator=(const FusedLookup&) = delete;

  // Says what the operations of the fusion that this rank takes part in do: [op].
  void add_actions(std::vector<Action>& actions);

  const Fusion& fusion() const { return first().fusion; }

  // Memory of the device whose copies on other ranks are to be made equal: its rows if they are of the type, or the
  // optimizer states of them. Empty where it has none, or where copies get the same gradients anyway.
  std::vector<DeviceMemory> averaged_rows(ElementType type) const;
  std::vector<DeviceMemory> averaged_states() const;
  std::int64_t bytes() const { return bytes_; }

  // As RankOps has them.
  std::vector<float> gathered(const Numbers* vectors) const;
  std::vector<float> shard_rows(int shard, const Numbers* rows) const;
  void load_rows(int shard, const ValueAt& value);
  void load_gradients(const ValueAt& value);

 private:
  static constexpr int kTurns = 3;

  int ahead(int op) const { return op < 0 ? 0 : programs_.first().op(op).batches_ahead; }
  const DeviceMemory& served(int iteration) const {
    return served_[static_cast<std::size_t>(iteration) % served_.size()];
  }
  DeviceMemory reserve(std::int64_t bytes, const char* what, float value = 0);
  DeviceMemory reserve_rows(std::int64_t elements, bool on_host);
  void* rows_of(const LookupCall& call) const { return (call.on_host ? host_arena_ : arena_).as<void>(); }
  DeviceMemory uploaded(const std::vector<std::int64_t>& ids, const char* what);
  // As large as the Program that wants most has it.
  DeviceMemory reserve_most(const std::function<std::int64_t(const LookupBuffers&)>& bytes, const char* what,
                            float value = 0);
  void draw(int rank);
  void reserve_ids();
  void reserve_vectors();
  template <typename Act>
  void set(std::vector<Action>& actions, int op, Act act);
  void set_in_place(std::vector<Action>& actions, int op, const DeviceMemory& memory);
  void set_plain_way(std::vector<Action>& actions);
  void set_plain_way_back(std::vector<Action>& actions);
  void set_coded_way(std::vector<Action>& actions);
  void set_coded_way_back(std::vector<Action>& actions);
  std::int64_t summed_bytes(const Op& op, int iteration) const;

  const LookupBuffers& first() const { return turns_.front(); }
  const LookupBuffers& of(int iteration) const { return turns_[programs_.turn(iteration)]; }
  const std::int64_t* asked(int iteration) const;
  const std::int64_t* ids_of(const LookupCall& call, int iteration) const;
  void exchange_ids(const Op& op, int iteration);
  void lookup(std::size_t part, int iteration, int stream);
  const float* gradients_of(const LookupBuffers& buffers, const LookupCall& call, int stream);
  void update(std::size_t part, int iteration, int stream);  // fused, or the summed gradient
  void sum_gradients(std::size_t call, int iteration, int stream);
  void apply(std::size_t part, int iteration, int stream);
  void apply_rows(const LookupCall& call, float* state, int stream);

  IterationPrograms programs_;
  int rank_ = 0;
  DevicePort& device_;
  std::vector<LookupBuffers> turns_;                             // [Program]
  std::size_t looked_up_ = 0;                                    // the Program of the last lookup
  std::vector<OptimizerSettings> settings_;                      // [part]
  std::int64_t bytes_ = 0;                                       // of device memory
  std::vector<std::vector<std::unique_ptr<DeviceCall>>> calls_;  // [Program][call]
  std::vector<DeviceMemory> states_;                             // [call]
  DeviceMemory asked_;                     // batch after batch; without an exchange in the order of the calls
  std::vector<std::int64_t> first_asked_;  // [batch]
  std::vector<DeviceMemory> served_;       // [turn]
  std::vector<DeviceMemory> order_;        // [Program] of ids, where that of the wire is not that of the calls
  DeviceMemory ids_came_;
  DeviceMemory narrow_in_, narrow_out_;  // ids of 4 bytes on the wire
  DeviceMemory arena_, host_arena_;
  DeviceMemory vectors_, returned_, gradients_, gradients_asked_;
  DeviceMemory block_;  // vectors of one call, where chunks have several
  DeviceMemory dense_gradient_;
  std::optional<CodedWay> coded_, coded_back_;
};

}  // namespace shardsim
