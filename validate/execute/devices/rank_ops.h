#pragma once

#include <memory>
#include <string>
#include <vector>

#include "validate/execute/devices/fused_lookup.h"

namespace shardsim {

// What every operation of one rank does on its device, and the data of its lookups. When and where operations run is
// the Machine's.
class RankOps {
 public:
  // Takes all memory. Errors (Failure::run) say for which operation of which rank.
  RankOps(const Program& program, int rank, bool check_data, DevicePort& device);

  bool has(int op) const { return actions_[static_cast<std::size_t>(op)] != nullptr; }  // the rank takes part
  void run(const Op& op, int iteration) const { actions_[static_cast<std::size_t>(op.id)](iteration); }
  // Exchanges of ids that a pipeline starts with, in iteration -1: the ids of its first batch are there before it.
  std::vector<int> first_ids() const;

  std::int64_t bytes() const;
  // As Machine has them. Errors (Failure::run): the operation is no lookup.
  std::vector<float> gathered(int lookup_op) const { return with(lookup_op).gathered(); }
  std::vector<float> shard_rows(int shard) const;
  void load_rows(int shard, const std::vector<float>& rows);
  void load_gradients(int lookup_op, const std::vector<float>& gradients) { with(lookup_op).load_gradients(gradients); }

 private:
  FusedLookup& with(int lookup_op) const;

  DevicePort& device_;
  std::vector<std::unique_ptr<FusedLookup>> lookups_;
  std::vector<DevicePort::Action> actions_;  // [op]
};

}  // namespace shardsim
