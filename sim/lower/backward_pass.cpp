#include <algorithm>
#include <numeric>

#include "sim/lower/dense_steps.h"
#include "sim/lower/lowering_context.h"

namespace shardsim {
namespace {

class BackwardPass {
 public:
  BackwardPass(LoweringContext& context, const std::vector<int>& forward)
      : context_(context), list_(context.list), before_(forward) {
    // The host launches the backward pass once it has the splits of the next batch.
    if (context.workload.pipeline == "sparse_dist") before_.push_back(context.input.host_wait());
    const DensePart& dense = context.workload.dense;
    if (dense.measured || !dense.layers.empty()) steps_ = dense_backward_steps(context.workload);
  }

  // Exchanges launch in the reverse order of the forward pass, and their consumers run in that order, as autograd does.
  void run() {
    top_layers();
    exchange_gradients();
    if (held_) reduce_buckets(*held_, dense_);
    bottom_layers();
    for (std::size_t index = context_.groups.size(); index-- > 0;) add_gradients(index);
    dense_optimizer();
    for (std::size_t index = context_.groups.size(); index-- > 0;) add_applies(index);
  }

 private:
  // Above the interaction. The last bucket is full when the gradients of the embeddings are there, too, which leave
  // first.
  void top_layers() {
    for (; step_ < steps_.size() && !steps_[step_].bottom; ++step_) {
      before_ = {add_dense(steps_[step_], before_)};
      if (step_ + 1 == steps_.size()) {
        held_ = &steps_[step_].buckets;
      } else {
        reduce_buckets(steps_[step_].buckets, before_);
      }
    }
    dense_ = before_;
  }

  void bottom_layers() {
    for (; step_ < steps_.size(); ++step_) {
      dense_ = {add_dense(steps_[step_], dense_)};
      reduce_buckets(steps_[step_].buckets, dense_);
    }
  }

  int add_dense(const DenseStep& step, std::vector<int> after) {
    const int id = list_.add("dense_backward", {step.bottom ? OpRole::bottom_backward : OpRole::dense_backward},
                             Stream::compute, std::move(after));
    list_.op(id).flops.values = {step.flops};
    list_.op(id).precision = context_.precision();
    return id;
  }

  void reduce_buckets(const std::vector<std::int64_t>& buckets, const std::vector<int>& after) {
    for (const std::int64_t bucket : buckets) {
      const int id =
          list_.add_reduction("dense_all_reduce", {OpRole::dense_all_reduce}, "world", {bucket}, "fp32", after);
      if (id >= 0) reductions_.push_back(id);
    }
  }

  void exchange_gradients() {
    split_ = before_;
    if (context_.shuffles() && context_.exchanges() && context_.tier_bytes() > 0) {
      split_ = {list_.add_pass("tier_split_gradient", {OpRole::split_gradient_tiers}, Stream::compute,
                               {context_.tier_bytes()}, before_)};
    }
    for (std::size_t index = context_.groups.size(); index-- > 0;) {
      const FusionGroup& group = context_.groups[index];
      if (!group.exchanges()) continue;
      std::vector<int> after = split_;
      const double bytes = 2 * (group.own_bytes - group.own_tier_bytes);
      if (context_.full() && context_.shuffles() && bytes > 0) {
        after = {list_.add_pass(group.order_pass() + "_gradient", group.as(OpRole::order_gradient), Stream::compute,
                                {bytes}, after)};
      }
      context_.ops[index].gradient_exchange = add_exchange(group, after);
    }
  }

  int add_exchange(const FusionGroup& group, std::vector<int> after) {
    const std::string type = context_.wire(group, context_.workload.wire_backward);
    if (!group.reduces()) {
      return list_.add_exchange(group.reach() + "all_to_all", group.as(OpRole::exchange_gradient), group.group,
                                group.gradients, type, after);
    }
    int crossed = -1;
    if (group.crosses()) {
      crossed = list_.add_exchange("cross_node_all_to_all", group.as(OpRole::exchange_gradient), "cross_node",
                                   group.cross_gradients, type, after);
      if (crossed >= 0) after = {crossed};
    }
    const int gathered = list_.add_reduction(group.reach() + "all_gather", group.as(OpRole::gather_gradient),
                                             group.reducing_group(), group.gathered_bytes, type, after);
    return gathered >= 0 ? gathered : crossed;
  }

  // What the owners do with gradients before the update: divide by the size of the group (pytorch/torchrec
  // torchrec/distributed/comm_ops.py), and put them in the order of the ids.
  std::vector<int> settle(const FusionGroup& group, std::vector<int> after) {
    if (!context_.full() || !context_.shuffles() || !group.exchanges()) return after;
    std::vector<double> bytes = received(group);
    for (double& of_rank : bytes) of_rank *= 2;
    after = {
        list_.add_pass("grad_divide", group.as(OpRole::divide_gradient), Stream::compute, bytes, std::move(after))};
    if (group.pooled() && !group.reduces()) return after;
    const char* const name = group.reduces() ? "recat_gradient" : "seq_permute";
    return {list_.add_pass(name, group.as(OpRole::order_received_gradient), Stream::compute, bytes, std::move(after))};
  }

  // Bytes of gradients that each rank gets.
  std::vector<double> received(const FusionGroup& group) const {
    if (!group.pooled()) return group.owner_bytes;
    const int world = context_.program.world_size;
    const ByteMatrix gradients = group.reduces() ? ByteMatrix{} : resolve_matrix(context_.program, group.gradients);
    std::vector<double> bytes(world, 0.0);
    for (int rank = 0; rank < world; ++rank) {
      const std::size_t set = group.gathered_bytes.size() > 1 ? rank / context_.program.ranks_per_node : 0;
      bytes[rank] =
          static_cast<double>(group.reduces() ? group.gathered_bytes[set] : gradients.bytes_received(rank, world));
    }
    return bytes;
  }

  void add_gradients(std::size_t index) {
    const FusionGroup& group = context_.groups[index];
    GroupOps& ops = context_.ops[index];
    std::vector<int> after = split_;
    if (ops.gradient_exchange >= 0) after = {ops.gradient_exchange};
    after = settle(group, after);
    for (const LookupPart& part : group.parts) ops.gradients.push_back(add_gradient(group, part, after));
    if (replicated(group.strategy)) reduce_replicas(group, ops);
  }

  int add_gradient(const FusionGroup& group, const LookupPart& part, const std::vector<int>& after) {
    const std::string name = part.dense_gradient ? "gradient_" : "update_";
    const int id =
        list_.add(name + std::string(strategy_name(group.strategy)),
                  group.as(part.dense_gradient ? OpRole::sum_gradient : OpRole::update), Stream::compute, after);
    Op& op = list_.op(id);
    op.shards = part.shards;
    op.ranks = part.ranks;
    op.lookups.values = part.of_ranks(part.lookups);
    op.hbm_bytes.values = part.of_ranks(part.gradient_bytes);
    op.host_bytes.values = part.of_ranks(part.gradient_host);
    op.distinct_rows.values = part.of_ranks(part.distinct_rows);
    op.optimizer = part.dense_gradient ? "none" : context_.workload.optimizer;
    return id;
  }

  // Tables that are replicated on all ranks are reduced in buckets, as a module of their own.
  void reduce_replicas(const FusionGroup& group, GroupOps& ops) {
    const bool flex = group.strategy == Strategy::flex;
    std::vector<std::int64_t> bytes(group.replicated_bytes.rbegin(), group.replicated_bytes.rend());
    bytes = context_.full() && !flex
                ? gradient_buckets(bytes)
                : std::vector<std::int64_t>{std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0})};
    for (const std::int64_t bucket : bytes) {
      const int id =
          list_.add_reduction(flex ? "cross_node_all_reduce" : "global_all_reduce", group.as(OpRole::reduce_gradient),
                              flex ? "cross_node" : "world", {bucket}, "fp32", ops.gradients);
      if (id >= 0) ops.reductions.push_back(id);
    }
  }

  void add_applies(std::size_t index) {
    const FusionGroup& group = context_.groups[index];
    GroupOps& ops = context_.ops[index];
    for (std::size_t number = 0; number < group.parts.size(); ++number) {
      const LookupPart& part = group.parts[number];
      ops.applies.push_back(-1);
      if (!part.dense_gradient) continue;
      const std::vector<int> after = ops.reductions.empty() ? std::vector<int>{ops.gradients[number]} : ops.reductions;
      ops.applies.back() = list_.add("apply_" + std::string(strategy_name(group.strategy)), group.as(OpRole::apply),
                                     Stream::compute, after);
      Op& apply = list_.op(ops.applies.back());
      apply.shards = part.shards;
      apply.ranks = part.ranks;
      apply.hbm_bytes.values = part.of_ranks(part.apply_bytes);
      apply.distinct_rows.values = part.of_ranks(part.applied_rows);
      apply.optimizer = context_.workload.optimizer;
    }
  }

  void dense_optimizer() {
    const std::int64_t parameters = context_.workload.dense.parameters.count;
    if (steps_.empty() || parameters <= 0) return;
    const int step = list_.add("dense_optimizer_step", {OpRole::dense_update}, Stream::compute,
                               reductions_.empty() ? dense_ : reductions_);
    list_.op(step).hbm_bytes.values = {3.0 * static_cast<double>(parameters)};
    list_.op(step).optimizer = context_.workload.optimizer;
  }

  LoweringContext& context_;
  OpList& list_;
  std::vector<DenseStep> steps_;
  std::size_t step_ = 0;
  const std::vector<std::int64_t>* held_ = nullptr;
  std::vector<int> before_;      // the pass so far
  std::vector<int> dense_;       // the dense part
  std::vector<int> split_;       // gradients of the embeddings
  std::vector<int> reductions_;  // of the dense part
};

}  // namespace

void lower_backward(LoweringContext& context, const std::vector<int>& forward) {
  BackwardPass(context, forward).run();
}

}  // namespace shardsim
