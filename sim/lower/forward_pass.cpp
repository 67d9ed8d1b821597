#include <algorithm>

#include "sim/lower/lowering.h"

namespace shardsim {

std::vector<int> Lowering::forward() {
  look_up();
  return dense_part();
}

void Lowering::look_up() {
  add_indices();
  for (const std::size_t index : forward_order()) {
    if (takes_turn(groups_[index]) && groups_[index].sharded) look_up(groups_[index], ops_[index]);
  }
  stash_rows();
}

void Lowering::look_up(const FusionGroup& group, GroupOps& ops) {
  if (owned(group)) ops.owned_rows = exchange_owned(group, OpRole::exchange_output, before_lookup());
  for (const LookupPart& part : group.parts) {
    ops.lookups.push_back(add_lookup(group, part, ops.owned_rows));
    ops.scatters.push_back(scatter_rows(group, part, ops.lookups.back()));
  }
  ops.output = add_output(group, ops.lookups);
}

// Returns what the backward pass follows.
std::vector<int> Lowering::dense_part() {
  for (std::size_t index = 0; index < groups_.size(); ++index)
    if (!groups_[index].sharded) look_up(groups_[index], ops_[index]);
  const int bottom = dense_forward(true, {});
  std::vector<int> done = restore_order();
  done.push_back(bottom);
  const int top = dense_forward(false, done);
  return top >= 0 ? std::vector<int>{top} : done;
}

// Returns the operations of its own iteration that a lookup waits for. Without a pipeline the host must have the sizes
// of all exchanges before it launches the lookups.
std::vector<int> Lowering::before_lookup() const {
  if (index_ >= 0 && (!pipelined() || indices_in_line())) return {index_};
  if (!pipelined()) return full() ? std::vector<int>{ready()} : all_ids();
  if (!full()) return {};
  if (workload_.hugectr_pipeline()) return {keep_};
  if (workload_.staged() && workload_.fetches_ahead()) return {};  // the iteration before has all: came_before
  return {sends_behind_forward() ? ready() : wait_};
}

int Lowering::add_lookup(const FusionGroup& group, const LookupPart& part, int owned_rows) {
  std::vector<int> after = before_lookup();
  after.push_back(owned_rows);
  Op& op = add_row_work("lookup_", OpRole::lookup, group, part, after, stream_of_rows(group));
  op.lookups.values = part.of_ranks(part.lookups);
  op.pooled = group.pooled();
  op.bags.values = part.of_ranks(part.bags);
  op.hbm_bytes.values = part.of_ranks(part.lookup_bytes.hbm);
  op.host_bytes.values = part.of_ranks(part.lookup_bytes.host);
  op.distinct_growth.values = part.growth();
  op.tables = part.tables_of_ranks();
  add_fact(op, part, part.hugectr.vector_bytes);
  return op.id;
}

// Returns what the output is complete with.
int Lowering::add_output(const FusionGroup& group, const std::vector<int>& lookups) {
  if (!group.exchanges()) return lookups.back();
  const std::string type = dtype_name(group.forward_type);
  if (group.reduces()) return add_reduced_output(group, type, lookups);
  std::vector<int> after = lookups;
  if (full() && shuffles() && !group.pooled()) {
    after = {add_vector_pass("seq_permute", OpRole::order_lookups, group, group.owner_bytes, lookups, lookup_stream())};
  }
  after =
      convert("encode_vectors", OpRole::encode_output, group, group.converted_output.encode, after, lookup_stream());
  const int done = add_exchange(group.reach() + "all_to_all", group.as(OpRole::exchange_output), group.group,
                                group.rows, type, after);
  return done >= 0 ? done : lookups.back();
}

// A pass of the codec; returns what follows `after` where there is none.
std::vector<int> Lowering::convert(const std::string& name, OpRole role, const FusionGroup& group,
                                   const std::vector<double>& bytes, const std::vector<int>& after, Stream stream) {
  if (bytes.empty()) return after;
  return {add_pass(name, group.as(role), stream, bytes, after)};
}

// Partial sums are added up, in the node first where the rows lie in one; then the nodes exchange what is complete.
int Lowering::add_reduced_output(const FusionGroup& group, const std::string& type, const std::vector<int>& lookups) {
  const FusionGroup::Conversions& converted = group.converted_output;
  const std::vector<int> after =
      convert("encode_vectors", OpRole::encode_output, group, converted.encode, lookups, lookup_stream());
  int done = add_reduction(group.reach() + "reduce_scatter", group.as(OpRole::sum_output), group.reducing_group(),
                           group.scattered_bytes, type, after);
  if (done < 0) done = after.back();
  if (!group.crosses()) return done;
  done = convert("recode_vectors", OpRole::encode_output, group, converted.recode, {done}, lookup_stream()).front();
  const int crossed = add_exchange("cross_node_all_to_all", group.as(OpRole::exchange_output), "cross_node",
                                   group.cross_rows, dtype_name(group.cross_forward_type), {done});
  return crossed >= 0 ? crossed : done;
}

// Where nothing is exchanged every lookup of a group is part of its output.
void Lowering::add_unexchanged(std::vector<int>& outputs) const {
  for (const GroupOps& ops : ops_) {
    if (ops.lookups.empty()) continue;  // those of the iteration before: connect_outputs
    if (ops.output == ops.lookups.back()) outputs.insert(outputs.end(), ops.lookups.begin(), ops.lookups.end() - 1);
  }
}

// Puts the vectors of each group in the order of the batch, then joins the tiers of a table.
std::vector<int> Lowering::restore_order() {
  std::vector<int> after;
  for (const GroupOps& ops : ops_) after.push_back(ops.output);
  add_unexchanged(after);
  if (!shuffles() || !exchanges()) return restore_duplicates(std::move(after), false);
  for (std::size_t index = 0; index < groups_.size(); ++index) {
    const FusionGroup& group = groups_[index];
    if (!group.converted_output.decode.empty())
      after[index] =
          convert("decode_vectors", OpRole::decode_output, group, group.converted_output.decode, {after[index]})
              .front();
    if (group.sums_received()) {
      after[index] = add_pass("sum_partial_vectors", group.as(OpRole::order_output), Stream::compute,
                              {group.partial_bytes}, {after[index]});
      continue;
    }
    if (!full() || !group.exchanges() || !group.own_bytes.any) continue;
    const std::vector<double>& bytes = group.own_bytes.of.values;
    after[index] = add_vector_pass(group.order_pass(), OpRole::order_output, group, bytes, {after[index]});
  }
  const OwnAmount tiers = tier_bytes();
  if (!tiers.any) return restore_duplicates(std::move(after), false);
  return restore_duplicates({add_pass("tier_merge", {OpRole::merge_tiers}, Stream::compute, tiers.of.values, after)},
                            true);
}

// Operations that take vectors depend on the lookups of the iteration before: the pass over the vectors of one group,
// or else the first operation that takes all of them.
void Lowering::connect_outputs() {
  const auto takes = [](const Op& op, int group) {
    if (op.role == OpRole::order_output || op.role == OpRole::decode_output) return op.fusion == group;
    return op.role == OpRole::merge_tiers || op.role == OpRole::restore_duplicates || op.role == OpRole::dense_forward;
  };
  for (std::size_t index = 0; index < groups_.size(); ++index) {
    if (!groups_[index].sharded) continue;  // the model itself looks them up
    const GroupOps& ops = ops_[index];
    const auto taker =
        std::ranges::find_if(program_.ops, [&](const Op& op) { return takes(op, groups_[index].index); });
    std::vector<int>& before = taker->after_previous;
    if (ops.output == ops.lookups.back())
      before.insert(before.end(), ops.lookups.begin(), ops.lookups.end());
    else
      before.push_back(ops.output);
  }
}

// A gather gives every id of the batch the vector of those that came once. `outputs`: of each group, then what else
// the dense part waits for; or, `merged`, of all of them.
std::vector<int> Lowering::restore_duplicates(std::vector<int> outputs, bool merged) {
  const OwnAmount bytes = sum_of(&FusionGroup::own_duplicated_bytes);
  if (!bytes.any) return outputs;
  std::vector<int> after = merged ? outputs : std::vector<int>{};
  for (std::size_t index = 0; index < groups_.size() && !merged; ++index) {
    if (!groups_[index].removes_duplicates()) continue;
    after.push_back(outputs[index]);
    if (!groups_[index].exchanges()) after.insert(after.end(), ops_[index].lookups.begin(), ops_[index].lookups.end());
  }
  std::erase_if(outputs, [&](int id) { return std::ranges::find(after, id) != after.end(); });
  const bool of_ids = sum_of(&FusionGroup::own_duplicated_ids).any;
  outputs.push_back(add_pass(of_ids ? "restore_duplicates" : "expand_batch", {OpRole::restore_duplicates},
                             Stream::compute, (2 * bytes).of.values, std::move(after)));
  return outputs;
}

// -1: the dense part has no such layers.
int Lowering::dense_forward(bool bottom, std::vector<int> after) {
  const DensePart& dense = workload_.dense;
  const bool any = std::any_of(dense.layers.begin(), dense.layers.end(),
                               [&](const DenseLayer& layer) { return is_bottom(layer) == bottom; });
  if (!any && (bottom || !dense.measured)) return -1;
  const int id = add("dense_forward", {bottom ? OpRole::bottom_forward : OpRole::dense_forward}, Stream::compute,
                     std::move(after));
  op_at(id).flops.values = {dense_forward_flops(workload_, bottom)};
  if (flops_differ()) op_at(id).flops.values.clear();
  for (std::size_t rank = 0; flops_differ() && rank < items_->size(); ++rank) {
    op_at(id).flops.values.push_back(dense_forward_flops(workload_, bottom, &(*items_)[rank]));
  }
  op_at(id).precision = precision();
  put_forward_work(id, bottom);
  return id;
}

// Between ranks, whose sequences were drawn.
bool Lowering::flops_differ() const {
  const auto by_items = [](const DenseLayer& layer) {
    return layer.per_item || (layer.attention && !layer.attention->varying.empty());
  };
  return items_ != nullptr && std::ranges::any_of(workload_.dense.layers, by_items);
}

}  // namespace shardsim
