#include <cmath>

#include "sim/lower/lowering.h"

namespace shardsim {
namespace {

// Counted in NVIDIA-Merlin/HugeCTR at 02188f45, embeddings/hybrid_embedding/hybrid_indices.cu and data.cu. Every GPU
// looks at the ids of the whole batch for what it owns, and at its own for what is replicated.
constexpr int kHybridKernels = 12;  // one numbering of all ids, masks, four selections of two kernels, offsets
constexpr double kIndexOfAll = 40;  // bytes per id of the whole batch: numbered, looked up twice, masked, selected
constexpr double kIndexOfOwn = 24;  // bytes per id of the own batch: masked, selected, written

}  // namespace

// Adds the indices of the next batch, once its ids are there, on a stream beside the rest of this one.
void Lowering::hybrid_indices() {
  if (!hybrid()) return;
  OwnAmount ids;
  for (const FusionGroup& group : groups_) ids += group.own_ids;
  const OwnAmount bytes = (kIndexOfAll * program_.world_size + kIndexOfOwn) * ids;
  const std::vector<int> ids_there = indices_in_line() && pipelined() ? std::vector<int>{} : all_ids();
  recat_ = index_ = add_pass("calculate_indices", {OpRole::recat}, Stream::side, bytes.of.values, ids_there);
  op_at(index_).kernels = kHybridKernels;
}

bool Lowering::owned(const FusionGroup& group) const {
  return hybrid() && group.strategy == Strategy::data_parallel && program_.world_size > 1 && on_one_node();
}

// An owner adds a gradient from every rank that met a row of its own: as many as that rank met.
std::vector<double> Lowering::owned_apply(const LookupPart& part) {
  const std::vector<double> gradient = part.per_one(part.hugectr.gradient_bytes, part.lookups);
  const std::vector<double> row = part.per_one(part.hugectr.row_bytes, part.lookups);
  return {part.distinct_rows.front() * (gradient.front() + 2 * row.front())};
}

// The different rows that a rank meets, as on the wire; those of every owner are as many.
int Lowering::exchange_owned(const FusionGroup& group, OpRole role, std::vector<int> after) {
  const bool back = role == OpRole::exchange_gradient;
  double bytes = 0;
  for (const LookupPart& part : group.parts) {
    const std::vector<double> width =
        part.per_one(back ? part.hugectr.gradient_bytes : part.hugectr.vector_bytes, part.lookups);
    bytes += part.distinct_rows.front() * width.front();
  }
  const std::int64_t each = std::llround(bytes / program_.world_size);
  const std::string name = back ? "frequent_gradients" : "frequent_rows";
  program_.matrices.push_back({name, {ByteMatrix::Kind::even, 1, {each * program_.world_size}, {}, false}});
  const MatrixUse use{static_cast<int>(program_.matrices.size()) - 1, false};
  return add_exchange(name + "_all_to_all", group.as(role), "world", use,
                      dtype_name(back ? group.backward_type : group.forward_type), std::move(after));
}

// Returns the bytes of the passes that put received vectors into the input of the interaction, and their gradients out
// of it. In one node the owners write the vectors there themselves, and read the gradients there; lookups of replicated
// rows do so anywhere.
OwnAmount Lowering::hybrid_bytes() const {
  OwnAmount bytes;
  if (on_one_node()) return bytes;
  for (const FusionGroup& group : groups_) {
    if (group.exchanges()) bytes += 2 * group.own_wire_bytes;
  }
  return bytes;
}

// Where it is not done ahead it is the first step of an iteration.
void Lowering::index_behind_updates() {
  std::vector<int> before = updates();
  for (const int id : all_ids()) before.push_back(id);
  op_at(index_).after_previous = std::move(before);
}

void Lowering::frequent_gradients() {
  for (std::size_t index = groups_.size(); index-- > 0;) {
    if (!replicated(groups_[index].strategy)) continue;
    GroupOps& ops = ops_[index];
    add_gradients(groups_[index], ops);
    if (!owned(groups_[index])) continue;
    std::vector<int> after = ops.gradients;
    if (indices_in_line()) after.insert(after.end(), reductions_.begin(), reductions_.end());
    const int given = exchange_owned(groups_[index], OpRole::exchange_gradient, after);
    if (given >= 0) ops.reductions = {given};
  }
}

void Lowering::infrequent_gradients() {
  for (std::size_t index = groups_.size(); index-- > 0;) {
    if (!replicated(groups_[index].strategy)) add_gradients(groups_[index], ops_[index]);
  }
}

// The embedding's stream sums the gradients of replicated rows, sends the others and updates their rows, all beside the
// bottom layers and the all-reduce, behind which replicated rows are updated.
void Lowering::hybrid_backward() {
  if (indices_in_line()) return hybrid_in_line();
  split_ = before_;
  frequent_gradients();
  exchange_gradients();
  if (held_) reduce_buckets(*held_, dense_);
  bottom_layers();
  infrequent_gradients();
  if (in_one_call()) reduce_in_one_call();
  optimizers();
}

// Bottom layers, sums, the all-reduce, then the gradients of other rows (overlap_ar_a2a is false).
void Lowering::hybrid_in_line() {
  if (held_) reduce_buckets(*held_, dense_);
  bottom_layers();
  split_ = dense_;
  if (in_one_call() && on_one_node()) reduce_in_one_call();
  frequent_gradients();
  if (in_one_call() && !on_one_node()) reduce_in_one_call();
  before_ = dense_;
  before_.insert(before_.end(), reductions_.begin(), reductions_.end());
  exchange_gradients();
  infrequent_gradients();
  optimizers();
}

}  // namespace shardsim
