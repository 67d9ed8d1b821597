#include <algorithm>

#include "sim/lower/dense_steps.h"
#include "sim/lower/lowering_context.h"

namespace shardsim {
namespace {

class ForwardPass {
 public:
  explicit ForwardPass(LoweringContext& context) : context_(context), list_(context.list) {}

  std::vector<int> run() {
    for (std::size_t index = 0; index < context_.groups.size(); ++index) {
      GroupOps& ops = context_.ops[index];
      for (const LookupPart& part : context_.groups[index].parts) {
        ops.lookups.push_back(add_lookup(context_.groups[index], part));
      }
      ops.output = add_output(context_.groups[index], ops.lookups);
    }
    const int bottom = add_dense(true, {});
    std::vector<int> ready = restore_order();
    ready.push_back(bottom);
    const int top = add_dense(false, ready);
    return top >= 0 ? std::vector<int>{top} : ready;
  }

 private:
  // What a lookup waits for of its own iteration. Without a pipeline the host must have the sizes of all exchanges
  // before it launches the lookups.
  std::vector<int> before_lookup() const {
    const InputExchange& input = context_.input;
    const std::string& pipeline = context_.workload.pipeline;
    if (pipeline == "none") return context_.full() ? std::vector<int>{input.ready()} : input.all_ids();
    if (!context_.full()) return {};
    return {pipeline == "sparse_dist" ? input.ready() : input.host_wait()};
  }

  int add_lookup(const FusionGroup& group, const LookupPart& part) {
    const std::string name = "lookup_" + std::string(strategy_name(group.strategy));
    const int id = list_.add(name, group.as(OpRole::lookup), Stream::compute, before_lookup());
    Op& op = list_.op(id);
    op.shards = part.shards;
    op.ranks = part.ranks;
    op.lookups.values = part.of_ranks(part.lookups);
    op.pooled = group.pooled();
    op.bags.values = part.of_ranks(part.bags);
    op.hbm_bytes.values = part.of_ranks(part.lookup_bytes);
    op.host_bytes.values = part.of_ranks(part.lookup_host);
    return id;
  }

  // Returns what the output is complete with.
  int add_output(const FusionGroup& group, const std::vector<int>& lookups) {
    if (!group.exchanges()) return lookups.back();
    const std::string type = context_.wire(group, context_.workload.wire_forward);
    if (group.reduces()) return add_reduced_output(group, type, lookups);
    std::vector<int> after = lookups;
    if (context_.full() && context_.shuffles() && !group.pooled()) {
      std::vector<double> bytes = group.owner_bytes;
      for (double& of_rank : bytes) of_rank *= 2;
      after = {list_.add_pass("seq_permute", group.as(OpRole::order_lookups), Stream::compute, bytes, lookups)};
    }
    const int done = list_.add_exchange(group.reach() + "all_to_all", group.as(OpRole::exchange_output), group.group,
                                        group.rows, type, after);
    return done >= 0 ? done : lookups.back();
  }

  // Partial sums are added up, in the node first where the rows lie in one; then the nodes exchange what is complete.
  int add_reduced_output(const FusionGroup& group, const std::string& type, const std::vector<int>& lookups) {
    int done = list_.add_reduction(group.reach() + "reduce_scatter", group.as(OpRole::sum_output),
                                   group.reducing_group(), group.scattered_bytes, type, lookups);
    if (done < 0) done = lookups.back();
    if (!group.crosses()) return done;
    const int crossed = list_.add_exchange("cross_node_all_to_all", group.as(OpRole::exchange_output), "cross_node",
                                           group.cross_rows, type, {done});
    return crossed >= 0 ? crossed : done;
  }

  // Where nothing is exchanged every lookup of a group is part of its output.
  void add_unexchanged(std::vector<int>& outputs) const {
    for (const GroupOps& ops : context_.ops) {
      if (ops.output == ops.lookups.back()) outputs.insert(outputs.end(), ops.lookups.begin(), ops.lookups.end() - 1);
    }
  }

  // Puts the vectors of each group in the order of the batch, then joins the tiers of a table.
  std::vector<int> restore_order() {
    std::vector<int> after;
    for (const GroupOps& ops : context_.ops) after.push_back(ops.output);
    add_unexchanged(after);
    if (!context_.shuffles() || !context_.exchanges()) return after;
    for (std::size_t index = 0; index < context_.groups.size() && context_.full(); ++index) {
      const FusionGroup& group = context_.groups[index];
      const double bytes = 2 * (group.own_bytes - group.own_tier_bytes);
      if (!group.exchanges() || bytes <= 0) continue;
      after[index] =
          list_.add_pass(group.order_pass(), group.as(OpRole::order_output), Stream::compute, {bytes}, {after[index]});
    }
    const double tiers = context_.tier_bytes();
    return tiers > 0
               ? std::vector<int>{list_.add_pass("tier_merge", {OpRole::merge_tiers}, Stream::compute, {tiers}, after)}
               : after;
  }

  // -1: the dense part has no such layers.
  int add_dense(bool bottom, std::vector<int> after) {
    const DensePart& dense = context_.workload.dense;
    const bool any = std::any_of(dense.layers.begin(), dense.layers.end(),
                                 [&](const DenseLayer& layer) { return is_bottom(layer) == bottom; });
    if (!any && (bottom || !dense.measured)) return -1;
    const int id = list_.add("dense_forward", {bottom ? OpRole::bottom_forward : OpRole::dense_forward},
                             Stream::compute, std::move(after));
    list_.op(id).flops.values = {dense_forward_flops(context_.workload, bottom)};
    list_.op(id).precision = context_.precision();
    return id;
  }

  LoweringContext& context_;
  OpList& list_;
};

}  // namespace

std::vector<int> lower_forward(LoweringContext& context) {
  return ForwardPass(context).run();
}

}  // namespace shardsim
