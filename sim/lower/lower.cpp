#include "sim/lower/lower.h"

#include <algorithm>

#include "sim/lower/fusion_group.h"
#include "sim/lower/input_exchange.h"
#include "sim/lower/lowering_context.h"
#include "sim/lower/measured_times.h"
#include "sim/lower/op_list.h"
#include "sim/lower/program_frame.h"

namespace shardsim {
namespace {

std::vector<Stream> streams_of(const Workload& workload) {
  std::vector<Stream> streams = {Stream::compute, Stream::world, Stream::node, Stream::cross};
  if (!workload.full_input_exchange() || workload.pipeline == "none") return streams;
  streams.insert(streams.end(), {Stream::memcpy, Stream::data_dist});
  if (workload.pipeline == "prefetch_sparse_dist") streams.push_back(Stream::prefetch);
  streams.push_back(Stream::host);
  return streams;
}

// Writes the operations of one iteration in launch order (docs/lowering.md says why in this order).
class Lowering {
 public:
  Lowering(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options)
      : program_(program_frame(plan, workload, cluster)),
        groups_(fuse(plan, workload, cluster, {options.observed_payload, workload.full_input_exchange()})),
        list_(program_, streams_of(workload), options.overlap),
        input_(list_, groups_, workload),
        context_{workload, program_, groups_, list_, input_, std::vector<GroupOps>(groups_.size())} {
    write_matrices(program_, groups_, context_.full());
  }

  Program take() {
    const std::string& pipeline = context_.workload.pipeline;
    if (!context_.full()) {
      ids_alone(pipeline);
    } else if (context_.workload.input_exchange == "none") {
      ids_in_place();
    } else if (pipeline == "none") {
      in_line();
    } else if (pipeline == "sparse_dist") {
      sparse_dist();
    } else {
      prefetch_sparse_dist();
    }
    connect_iterations();
    if (context_.workload.dense.measured) hold_measured_times(program_, *context_.workload.dense.measured);
    return std::move(program_);
  }

 private:
  void passes() { lower_backward(context_, lower_forward(context_)); }

  // The exchange of ids is one call per group: of this batch, or with a pipeline of the next one.
  void ids_alone(const std::string& pipeline) {
    const bool behind = pipeline == "sparse_dist";
    if (!behind) input_.exchange_ids_only();
    if (context_.shuffles()) input_.prefetch_rows();
    const std::vector<int> forward = lower_forward(context_);
    if (behind) input_.exchange_ids_only();
    lower_backward(context_, forward);
  }

  // Every rank has the ids of the whole batch for its tables already.
  void ids_in_place() {
    input_.prefetch_rows();
    passes();
  }

  // One batch after the other: ids, host wait, lookup and all else in line.
  void in_line() {
    input_.copy_to_device();
    input_.permute();
    input_.exchange_splits();
    input_.wait_for_splits();
    input_.exchange_inputs();
    input_.recat();
    input_.prefetch_rows();
    passes();
  }

  // TrainPipelineSparseDist.progress (pytorch/torchrec torchrec/distributed/train_pipeline/train_pipelines.py): splits
  // of the next batch first, its ids behind the forward pass.
  void sparse_dist() {
    input_.permute();
    input_.exchange_splits();
    input_.copy_to_device();
    input_.recat();
    input_.prefetch_rows();
    const std::vector<int> forward = lower_forward(context_);
    input_.wait_for_splits();
    input_.exchange_inputs();
    lower_backward(context_, forward);
  }

  // PrefetchTrainPipelineSparseDist.progress: ids of the next batch first, its rows fetched during the backward pass,
  // splits of the one after it last.
  void prefetch_sparse_dist() {
    input_.copy_to_device();
    input_.wait_for_splits();
    input_.exchange_inputs();
    const std::vector<int> forward = lower_forward(context_);
    input_.recat();
    input_.prefetch_rows();
    lower_backward(context_, forward);
    input_.permute();
    input_.exchange_splits();
  }

  // Rows must be updated before the next iteration reads them. Without a pipeline the next exchange of ids follows the
  // last operation of this iteration; with one, the ids that a lookup needs came during the iteration before.
  void connect_iterations() {
    const bool ahead = context_.workload.pipeline != "none";
    const int last = list_.last_compute();
    for (std::size_t index = 0; index < groups_.size(); ++index) {
      const GroupOps& ops = context_.ops[index];
      for (std::size_t part = 0; part < ops.lookups.size(); ++part) {
        std::vector<int>& before = list_.op(ops.lookups[part]).after_previous;
        if (ahead) before = came_before(index);
        before.push_back(ops.update(part));
      }
      const int ids = input_.ids_of(index);
      if (!ahead && !context_.full() && ids >= 0) list_.op(ids).after_previous = {last};
    }
    input_.connect_pipeline();
    if (input_.copy() >= 0 && !ahead) list_.op(input_.copy()).after_previous = {last};
  }

  // Of the input of this batch, in the iteration before.
  std::vector<int> came_before(std::size_t index) const {
    std::vector<int> ids = {input_.ids_of(index)};
    if (context_.full() && context_.workload.pipeline == "prefetch_sparse_dist") ids.push_back(input_.ready());
    std::erase(ids, -1);
    return ids;
  }

  Program program_;
  std::vector<FusionGroup> groups_;
  OpList list_;
  InputExchange input_;
  LoweringContext context_;
};

}  // namespace

Program lower(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options) {
  return Lowering(plan, workload, cluster, options).take();
}

}  // namespace shardsim
