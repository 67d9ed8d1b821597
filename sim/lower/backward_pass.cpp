#include <algorithm>
#include <numeric>

#include "sim/lower/lowering.h"

namespace shardsim {
namespace {

constexpr std::int64_t kFp32Bytes = 4;

}  // namespace

// Exchanges launch in the reverse order of the forward pass, and their consumers run in that order, as autograd does.
void Lowering::backward(std::vector<int> forward) {
  before_ = std::move(forward);
  // The host launches the backward pass once it has the splits of the next batch.
  if (sends_behind_forward()) before_.push_back(wait_);
  const DensePart& dense = workload_.dense;
  if (dense.measured || !dense.layers.empty()) take_dense_steps();
  take_late_buckets();
  top_layers();
  if (hybrid()) return hybrid_backward();
  const bool bottom_first = index_apart() && in_one_call();  // nothing of the embeddings waits for it
  if (bottom_first) bottom_layers();
  if (workload_.hugectr_pipeline()) exchange_keys();
  if (workload_.stash && workload_.stash->restore_at == kRestoreAtGradients) restore_rows();
  exchange_gradients();
  if (held_) reduce_buckets(*held_, dense_);
  if (!bottom_first) bottom_layers();
  restore_rows();
  all_gradients();
  optimizers();
}

// Adds the gradients of all groups, the last group first; groups that go into the one all-reduce come before the
// others.
void Lowering::all_gradients() {
  for (const bool joined : {true, false}) {
    for (std::size_t index = groups_.size(); index-- > 0;) {
      if (in_one_reduction(groups_[index]) == joined) add_gradients(groups_[index], ops_[index]);
    }
    if (joined && in_one_call()) reduce_in_one_call();
  }
  reduce_late_buckets();
}

// The gradients of the dense part and of replicated tables.
void Lowering::reduce_in_one_call() {
  const int width = dtype_bytes(workload_.dense.all_reduce.dtype);
  std::int64_t elements = 0;
  for (const DenseStep& step : steps_) {
    for (const std::int64_t bucket : step.buckets) elements += bucket;
  }
  elements = (elements + kFp32Bytes - 1) / kFp32Bytes;
  std::vector<int> after = dense_;
  for (std::size_t index = 0; index < groups_.size(); ++index) {
    const FusionGroup& group = groups_[index];
    if (!in_one_reduction(group)) continue;
    elements += group.replicated_elements;
    after.insert(after.end(), ops_[index].gradients.begin(), ops_[index].gradients.end());
  }
  const int id = add_reduction("dense_all_reduce", {OpRole::dense_all_reduce}, "world", {elements * width},
                               dtype_name(workload_.dense.all_reduce.dtype), after);
  if (id < 0) return;
  reductions_.push_back(id);
  for (std::size_t index = 0; index < groups_.size(); ++index) {
    if (in_one_reduction(groups_[index])) ops_[index].reductions.push_back(id);
  }
}

void Lowering::take_dense_steps() {
  steps_ = dense_backward_steps(workload_);
  for (const DenseStep& step : steps_) step_flops_.push_back({{step.flops}});
  if (!flops_differ()) return;
  for (PerRank& flops : step_flops_) flops.values.clear();
  for (const RankItems& items : *items_) {
    const std::vector<DenseStep> of_rank = dense_backward_steps(workload_, &items);
    for (std::size_t step = 0; step < steps_.size(); ++step) step_flops_[step].values.push_back(of_rank[step].flops);
  }
}

// Above the interaction. The last bucket is full when the gradients of the embeddings are there, too, which leave
// first.
void Lowering::top_layers() {
  dense_ = before_;
  for (; step_ < steps_.size() && !steps_[step_].bottom; ++step_) {
    before_ = {dense_backward(step_, before_)};
    dense_ = accumulate_step(step_, before_);
    if (step_ + 1 == steps_.size()) {
      held_ = &steps_[step_].buckets;
    } else {
      reduce_buckets(steps_[step_].buckets, dense_);
    }
  }
}

void Lowering::bottom_layers() {
  for (; step_ < steps_.size(); ++step_) {
    dense_ = accumulate_step(step_, {dense_backward(step_, dense_)});
    reduce_buckets(steps_[step_].buckets, dense_);
  }
}

int Lowering::dense_backward(std::size_t step, std::vector<int> after) {
  restore_rows_before(steps_[step]);
  const int id = add("dense_backward", {steps_[step].bottom ? OpRole::bottom_backward : OpRole::dense_backward},
                     Stream::compute, std::move(after));
  op_at(id).flops = step_flops_[step];
  op_at(id).precision = precision();
  put_backward_work(id, steps_[step].layers);
  return id;
}

void Lowering::reduce_buckets(const std::vector<std::int64_t>& buckets, const std::vector<int>& after) {
  if (in_one_call()) return;
  const Dtype dtype = workload_.dense.all_reduce.dtype;
  for (const std::int64_t bucket : buckets) {
    const std::int64_t bytes =
        dtype == Dtype::fp32 ? bucket : (bucket + kFp32Bytes - 1) / kFp32Bytes * dtype_bytes(dtype);
    const int id =
        add_reduction("dense_all_reduce", {OpRole::dense_all_reduce}, "world", {bytes}, dtype_name(dtype), after);
    if (id < 0) continue;
    op_at(id).every = batches_added();
    reductions_.push_back(id);
  }
}

void Lowering::exchange_gradients() {
  split_ = before_;
  // HugeCTR's host launches this behind its wait.
  if (workload_.hugectr_pipeline()) split_.push_back(wait_);
  summed_ = {sum_duplicates(split_)};
  const OwnAmount tiers = tier_bytes();
  if (shuffles() && exchanges() && tiers.any) {
    split_.push_back(summed_.front());
    summed_ = split_ = {add_pass("tier_split_gradient", {OpRole::split_gradient_tiers},
                                 hybrid() ? Stream::side : Stream::compute, tiers.of.values, split_)};
  }
  for (std::size_t index = groups_.size(); index-- > 0;) {
    const FusionGroup& group = groups_[index];
    if (!group.exchanges()) continue;
    std::vector<int> after = gradients_of(group);
    if (group.sums_received() && shuffles()) {
      after = {add_pass("copy_partial_gradients", group.as(OpRole::order_gradient), row_stream(),
                        {group.partial_gradient_bytes}, after)};
    } else if (full() && shuffles() && group.own_bytes.any) {
      after = {add_vector_pass(group.order_pass() + "_gradient", OpRole::order_gradient, group,
                               group.own_bytes.of.values, after)};
    }
    after = convert("encode_gradients", OpRole::encode_gradient, group, group.converted_gradient.encode, after);
    ops_[index].gradient_exchange = gradient_exchange(group, after);
  }
}

// The backward pass of the gather: every gradient is added to that of its id by atomics, in memory set to 0 first.
int Lowering::sum_duplicates(const std::vector<int>& after) {
  const OwnAmount duplicated = sum_of(&FusionGroup::own_duplicated_bytes);
  if (!duplicated.any) return -1;
  const OwnAmount bytes = 3 * duplicated + sum_of(&FusionGroup::own_kept_bytes);
  const bool of_ids = sum_of(&FusionGroup::own_duplicated_ids).any;
  return add_pass(of_ids ? "sum_duplicates" : "sum_batch", {OpRole::sum_duplicates}, Stream::compute, bytes.of.values,
                  after);
}

int Lowering::gradient_exchange(const FusionGroup& group, std::vector<int> after) {
  const std::string type = dtype_name(group.backward_type);
  if (!group.reduces()) {
    return add_exchange(group.reach() + "all_to_all", group.as(OpRole::exchange_gradient), group.group, group.gradients,
                        type, after);
  }
  int crossed = -1;
  if (group.crosses()) {
    crossed = add_exchange("cross_node_all_to_all", group.as(OpRole::exchange_gradient), "cross_node",
                           group.cross_gradients, dtype_name(group.cross_backward_type), after);
    if (crossed >= 0) after = {crossed};
    after = convert("recode_gradients", OpRole::encode_gradient, group, group.converted_gradient.recode, after,
                    lookup_stream());
  }
  const int gathered = add_reduction(group.reach() + "all_gather", group.as(OpRole::gather_gradient),
                                     group.reducing_group(), group.gathered_bytes, type, after);
  return gathered >= 0 ? gathered : crossed;
}

// Adds the owners' work on gradients before the update: they divide by the size of the group (pytorch/torchrec
// torchrec/distributed/comm_ops.py), and put them in the order of the ids.
std::vector<int> Lowering::settle(const FusionGroup& group, std::vector<int> after) {
  if (!full() || !shuffles() || !group.exchanges() || index_apart()) return after;
  const std::vector<double>& bytes = group.gradient_bytes;
  after = {add_vector_pass("grad_divide", OpRole::divide_gradient, group, bytes, std::move(after), lookup_stream())};
  if (group.sums_received() || (group.pooled() && !group.reduces())) return after;
  const char* const name = group.reduces() ? "recat_gradient" : "seq_permute";
  return {add_vector_pass(name, OpRole::order_received_gradient, group, bytes, std::move(after), lookup_stream())};
}

void Lowering::add_gradients(const FusionGroup& group, GroupOps& ops) {
  std::vector<int> after = gradients_of(group);
  if (ops.gradient_exchange >= 0) after = {ops.gradient_exchange};
  after = convert("decode_gradients", OpRole::decode_gradient, group, group.converted_gradient.decode, after,
                  lookup_stream());
  after = settle(group, after);
  for (std::size_t number = 0; number < group.parts.size(); ++number) {
    std::vector<int> behind = after;
    if (!ops.indices.empty()) behind.push_back(ops.indices[number]);
    behind.push_back(restore_);
    behind.push_back(prefetch_beside(group.parts[number]));
    behind.push_back(gather_rows(group, ops.scatters[number], behind));
    behind.push_back(add_weight_gradient(group, group.parts[number], behind));
    behind.push_back(clear_rows(group, group.parts[number], behind));
    ops.gradients.push_back(add_gradient(group, group.parts[number], behind));
    ops.accumulated.push_back(accumulate_rows(group, group.parts[number], ops.gradients.back()));
  }
  if (replicated(group.strategy) && group.sharded && !in_one_reduction(group) && !owned(group))
    reduce_replicas(group, ops);
}

// In the call of the update, before its kernels. A measured rest contains it. -1: no weight gets a gradient.
int Lowering::add_weight_gradient(const FusionGroup& group, const LookupPart& part, const std::vector<int>& after) {
  if (!part.trains_weights || holds_embeddings(workload_.dense)) return -1;
  Op& op = add_row_work("weight_gradient_", OpRole::weight_gradient, group, part, after, lookup_stream());
  op.lookups.values = part.of_ranks(part.weight_lookups);
  op.hbm_bytes.values = part.of_ranks(part.weight_bytes.hbm);
  op.host_bytes.values = part.of_ranks(part.weight_bytes.host);
  return op.id;
}

int Lowering::add_gradient(const FusionGroup& group, const LookupPart& part, const std::vector<int>& after) {
  const bool sum = part.dense_gradient;
  // HugeCTR updates rows beside the dense part, and sums those of replicated ones in its line.
  const Stream of_rows = workload_.hugectr_rows() ? row_stream() : stream_of_rows(group);
  Op& op = add_row_work(sum ? "gradient_" : "update_", sum ? OpRole::sum_gradient : OpRole::update, group, part, after,
                        sum && workload_.hugectr_rows() && !hybrid() ? Stream::compute : of_rows);
  op.lookups.values = part.of_ranks(part.lookups);
  op.hbm_bytes.values = part.of_ranks(part.gradient_bytes.hbm);
  op.host_bytes.values = part.of_ranks(part.gradient_bytes.host);
  op.distinct_rows.values = part.of_ranks(part.distinct_rows);
  op.optimizer = sum ? "none" : workload_.optimizer;
  add_fact(op, part, part.hugectr.gradient_bytes);
  return op.id;
}

// Tables that are replicated on all ranks are reduced in buckets, as a module of their own.
void Lowering::reduce_replicas(const FusionGroup& group, GroupOps& ops) {
  const bool flex = group.strategy == Strategy::flex;
  std::vector<std::int64_t> bytes(group.replicated_bytes.rbegin(), group.replicated_bytes.rend());
  bytes = full() && !flex ? gradient_buckets(bytes)
                          : std::vector<std::int64_t>{std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0})};
  std::vector<int> after = ops.gradients;
  after.insert(after.end(), ops.accumulated.begin(), ops.accumulated.end());
  for (const std::int64_t bucket : bytes) {
    const int id =
        add_reduction(flex ? "cross_node_all_reduce" : "global_all_reduce", group.as(OpRole::reduce_gradient),
                      flex ? "cross_node" : "world", {bucket}, "fp32", after);
    if (id < 0) continue;
    if (!flex) op_at(id).every = batches_added();
    ops.reductions.push_back(id);
  }
}

void Lowering::add_applies(const FusionGroup& group, GroupOps& ops) {
  for (std::size_t number = 0; number < group.parts.size(); ++number) {
    const LookupPart& part = group.parts[number];
    ops.applies.push_back(-1);
    if (!part.dense_gradient) continue;
    const std::vector<int> after =
        ops.reductions.empty() ? std::vector<int>{ops.gradients[number], ops.accumulated[number]} : ops.reductions;
    Op& apply = add_row_work("apply_", OpRole::apply, group, part, after, hybrid() ? Stream::side : Stream::compute);
    apply.hbm_bytes.values = owned(group) ? owned_apply(part) : part.of_ranks(part.applied.bytes);
    apply.distinct_rows.values = part.of_ranks(part.applied.rows);
    apply.optimizer = workload_.optimizer;
    if (part.accumulates) apply.every = batches_added();
    ops.applies.back() = apply.id;
  }
}

// Adds the optimizers of the dense part, then of rows whose gradients are summed apart.
void Lowering::optimizers() {
  average_replicas();
  dense_optimizer();
  for (std::size_t index = groups_.size(); index-- > 0;)
    if (groups_[index].sharded) add_applies(groups_[index], ops_[index]);
}

void Lowering::dense_optimizer() {
  const std::int64_t parameters = (steps_.empty() ? 0 : workload_.dense.parameters.count) + unsharded_bytes();
  if (parameters <= 0) return;
  std::vector<int> after = reductions_.empty() ? dense_ : reductions_;
  after.insert(after.end(), averages_.begin(), averages_.end());
  // The end of the backward pass waits for its streams.
  for (std::size_t index = 0; index < groups_.size(); ++index) {
    const std::vector<int>& gradients = ops_[index].gradients;
    if (looks_up_apart() || !groups_[index].sharded) after.insert(after.end(), gradients.begin(), gradients.end());
  }
  const int step = add("dense_optimizer_step", {OpRole::dense_update}, Stream::compute, std::move(after));
  op_at(step).hbm_bytes.values = {3.0 * static_cast<double>(parameters)};
  op_at(step).optimizer = workload_.optimizer;
  op_at(step).every = batches_added();
  put_optimizer_work(step);
  for (std::size_t index = 0; index < groups_.size(); ++index)
    if (!groups_[index].sharded) ops_[index].applies.assign(groups_[index].parts.size(), step);
}

}  // namespace shardsim
