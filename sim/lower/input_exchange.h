#pragma once

#include <vector>

#include "models/workload/workload.h"
#include "sim/lower/fusion_group.h"
#include "sim/lower/op_list.h"

namespace shardsim {

// The way of a batch's ids to the ranks that look them up, as operations in TorchRec's order (docs/lowering.md, "The
// exchange of ids"): copy to the device, permute and bucketize, splits, the host's wait for them, lengths, ids and
// weights, recat, cache prefetch. Each step may belong to this batch or, in a pipeline, to a later one: lower.cpp calls
// them in the order of its pipeline.
class InputExchange {
 public:
  InputExchange(OpList& ops, const std::vector<FusionGroup>& groups, const Workload& workload);

  // Ids alone, one call per fusion group, world before node.
  void exchange_ids_only();

  void copy_to_device();
  void permute();
  void exchange_splits();  // after permute()
  void wait_for_splits();  // host
  void exchange_inputs();  // after the wait: lengths, ids, weights
  void recat();
  void prefetch_rows();  // after recat(); nothing without cached tables

  // Where what a step needs was sent on its way in the previous iteration. Call once all steps are added.
  void connect_pipeline();

  int copy() const { return copy_; }
  int host_wait() const { return wait_; }
  int ids_of(std::size_t group) const { return ids_[group]; }
  std::vector<int> all_ids() const;                                  // those that exist, by id
  int ready() const { return prefetch_ >= 0 ? prefetch_ : recat_; }  // what the lookups wait for; -1: none

 private:
  Stream stream(Stream wanted) const;
  void say_batches_ahead();
  std::string ids_dtype() const { return "int" + std::to_string(8 * workload_.id_bytes); }
  double own_input_bytes() const;
  void add_splits(const std::string& matrix, int fusion, const std::string& group, std::int64_t numbers);
  void exchange_inputs_of(const FusionGroup& group, std::size_t index);
  std::vector<double> received_bytes() const;
  bool any_exchange() const;
  void launch_behind_wait();

  OpList& ops_;
  const std::vector<FusionGroup>& groups_;
  const Workload& workload_;
  int copy_ = -1, permute_first_ = -1, permute_ = -1, wait_ = -1, recat_ = -1, prefetch_ = -1;
  std::vector<int> splits_, inputs_, ids_;
};

}  // namespace shardsim
