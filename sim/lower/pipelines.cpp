#include <algorithm>
#include <utility>

#include "sim/lower/lowering.h"

namespace shardsim {

// The exchange of ids is one call per group: of this batch, or with a pipeline of the next one.
void Lowering::ids_alone() {
  const bool behind = workload_.pipeline == "sparse_dist";
  if (!behind) exchange_ids_only();
  if (!behind || indices_in_line()) hybrid_indices();
  if (shuffles()) prefetch_rows();
  const std::vector<int> done = forward();
  if (behind) exchange_ids_only();
  if (behind && !indices_in_line()) hybrid_indices();
  backward(done);
}

// One batch after the other: ids, host wait, lookup and all else in line.
void Lowering::in_line() {
  copy_to_device();
  backward(collections_in_line());
}

// Returns what the backward pass follows. ShardedModule.forward (distributed/embedding_types.py) waits for the module's
// ids and then looks them up, so a module that is called later exchanges its ids behind the vectors of the one before.
std::vector<int> Lowering::collections_in_line() {
  if (!one_by_one()) {
    inputs_in_line();
    return forward();
  }
  const int modules = groups_.empty() ? 0 : groups_.back().module + 1;
  for (turn_ = 0; turn_ < modules; ++turn_) {
    permute_ = recat_ = fetch_ = prefetch_ = -1;
    splits_.clear();
    inputs_.clear();
    inputs_in_line();
    look_up();
  }
  turn_ = -1;
  stash_rows();
  return dense_part();
}

void Lowering::inputs_in_line() {
  permute();
  exchange_splits();
  wait_for_splits();
  exchange_inputs();
  recat();
  prefetch_rows();
}

// TrainPipelineBase.progress: the next batch is copied behind the forward pass, all else is in line.
void Lowering::base() {
  const std::vector<int> done = collections_in_line();
  copy_to_device();
  backward(done);
}

// TrainPipelineSparseDist.progress (pytorch/torchrec torchrec/distributed/train_pipeline/train_pipelines.py): splits
// of the next batch first, its ids behind the forward pass.
void Lowering::sparse_dist() {
  permute();
  exchange_splits();
  copy_to_device();
  recat();
  prefetch_rows();
  const std::vector<int> done = forward();
  wait_for_splits();
  exchange_inputs();
  backward(done);
}

// TrainPipelineSemiSync.progress: the dense part takes vectors that the iteration before has looked up, and the next
// batch is looked up in front of this one's backward pass, in rows that lack its update.
void Lowering::semi_sync() {
  permute();
  exchange_splits();
  const std::vector<int> done = dense_part();
  copy_to_device();
  recat();
  prefetch_rows();
  look_up();
  wait_for_splits();
  exchange_inputs();
  backward(done);
}

Stream Lowering::lookup_stream() const {
  if (!workload_.fused_sparse_dist() || workload_.fused_lookup.stream == "current") return Stream::compute;
  return workload_.fused_lookup.stream == "new" ? Stream::lookup : Stream::data_dist;
}

// TrainPipelineFusedSparseDist.progress: lookups of a batch wait for the update of their rows, and not for the
// optimizer of the dense part behind it; all else is that of sparse_dist.
void Lowering::fused_sparse_dist() {
  const auto look = [&] {
    recat();
    prefetch_rows();
    look_up();
  };
  if (!workload_.fused_lookup.after_input_dist) look();
  permute();
  exchange_splits();
  copy_to_device();
  if (workload_.fused_lookup.after_input_dist) look();
  const std::vector<int> done = dense_part();
  wait_for_splits();
  exchange_inputs();
  backward(done);
}

// StagedTrainPipeline.progress, then the user's loop: the stages from the newest batch on, the model's forward pass,
// whose hook waits for the splits (SparseDataDistUtil), and its backward pass.
void Lowering::staged() {
  copy_to_device();
  transform();
  const int copy = std::exchange(copy_, -1);  // of a later batch than the one whose ids are sent
  permute();
  copy_ = copy;
  exchange_splits();
  recat();
  prefetch_rows();
  const std::vector<int> done = forward();
  wait_for_splits();
  exchange_inputs();
  backward(done);
}

void Lowering::transform() {
  for (const PipelineStage& stage : workload_.stages) {
    if (stage.does != "transform") continue;
    transforms_.push_back(add_pass("transform_batch", {OpRole::transform_inputs}, transform_stream(transforms_.size()),
                                   {static_cast<double>(stage.bytes.count)}, {}));
  }
}

// PrefetchTrainPipelineSparseDist.progress: ids of the next batch first, its rows fetched during the backward pass,
// splits of the one after it last.
void Lowering::prefetch_sparse_dist() {
  copy_to_device();
  wait_for_splits();
  exchange_inputs();
  const std::vector<int> done = forward();
  recat();
  prefetch_rows();
  backward(done);
  permute();
  exchange_splits();
}

// The embedding collections of HugeCTR: counts of the next batch's keys are exchanged from the start, the keys once the
// host has the counts and has launched the dense part; they go before the gradients, since one communicator has all.
void Lowering::hugectr() {
  copy_to_device();
  keep_keys();
  count_keys();
  backward(forward());
}

// Rows must be updated before the next iteration reads them. Without a pipeline the next exchange of ids follows the
// last operation of this iteration; with one, the ids that a lookup needs came during the iteration before.
void Lowering::connect_iterations() {
  await_scatters();
  const int last = last_compute();
  for (const GroupOps& ops : ops_) {
    for (std::size_t part = 0; part < ops.lookups.size(); ++part) {
      std::vector<int>& before = op_at(ops.lookups[part]).after_previous;
      if (pipelined()) before = came_before(ops);
      before.push_back(ops.update(part));
    }
    if (ops.owned_rows >= 0) {
      std::vector<int>& before = op_at(ops.owned_rows).after_previous;
      if (pipelined()) before = came_before(ops);
      for (std::size_t part = 0; part < ops.lookups.size(); ++part) before.push_back(ops.update(part));
    }
    for (const int index : ops.indices) {
      if (pipelined()) op_at(index).after_previous = came_before(ops);
    }
    if (!pipelined() && !full() && ops.ids >= 0) op_at(ops.ids).after_previous = {last};
  }
  for (const GroupOps& ops : ops_)
    for (const int lookup : ops.lookups) {
      std::vector<int>& before = op_at(lookup).after_previous;
      before.insert(before.end(), averages_.begin(), averages_.end());
    }
  if (hybrid() && pipelined() && indices_in_line()) index_behind_updates();
  workload_.hugectr_pipeline() ? connect_hugectr() : connect_pipeline();
  connect_stores();
  if (workload_.semi_sync()) connect_outputs();
  if (copy_ >= 0 && !pipelined() && !workload_.base_pipeline()) op_at(copy_).after_previous = {last};
}

// Returns the operations on the input of this batch that run in the iteration before.
std::vector<int> Lowering::came_before(const GroupOps& ops) const {
  std::vector<int> ids = {ops.ids};
  const bool indexed = hybrid() && !indices_in_line();
  // With a prefetch behind the exchange of ids, a batch has been in the iteration before last.
  if (workload_.staged() && workload_.fetches_ahead()) ids = {wait_};
  if (workload_.hugectr_pipeline() || indexed || (full() && workload_.fetches_ahead())) ids.push_back(ready());
  std::erase(ids, -1);
  return ids;
}

}  // namespace shardsim
