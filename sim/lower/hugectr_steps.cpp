#include <algorithm>
#include <bit>

#include "sim/lower/lowering.h"

namespace shardsim {
namespace {

// Kernels, and bytes of a key, counted in NVIDIA-Merlin/HugeCTR at v23.08: data_distributor/
// sparse_data_distribution_op_impl.cu and embedding/operators/index_calculation.cu.
constexpr int kCountKernels = 8;         // label and count
constexpr double kLabelBytes = 4;        // beside each key
constexpr int kWaitKernels = 2;          // the copy of the counts to the host, and its wait
constexpr int kDistributeKernels = 20;   // scans, transpose, swizzle, key to row
constexpr double kDistributePasses = 5;  // over the keys, which each reads and writes
constexpr int kIndexKernels = 12;        // sub-range, scan, group, replicate, flags, scan, unique: 10 to 14
constexpr double kIndexBytes = 70;       // read and written per lookup, beside the sort
constexpr int kIndexKeyBits = 32;        // keys of all tables in one, whatever their rows

}  // namespace

// The keys of the batch that is trained are copied aside, so that those of the next one may arrive.
void Lowering::keep_keys() {
  if (!exchanges()) return;
  keep_ = add_pass("keep_keys", {OpRole::keep_ids}, Stream::compute, received_bytes(), {});
}

void Lowering::count_keys() {
  if (!exchanges()) return;
  OwnAmount keys;
  for (const FusionGroup& group : groups_) {
    if (group.exchanges()) keys += group.own_ids;
  }
  permute_ = add_pass("count_keys", {OpRole::permute_inputs}, Stream::prefetch,
                      ((workload_.id_bytes + kLabelBytes) * keys).of.values, {keep_});
  op_at(permute_).kernels = kCountKernels;
  for (const char* const name : {"world", "node"}) {
    std::int64_t numbers = 0;
    for (const FusionGroup& group : groups_) {
      if (group.group == name) numbers += static_cast<std::int64_t>(group.shards.size());
    }
    add_splits(std::string(name) + "_splits", -1, name, numbers);
  }
  std::vector<int> after = splits_;  // one stream of HugeCTR's has them all
  after.push_back(permute_);
  sort_ = add("sort_keys_by_owner", {OpRole::bucketize}, Stream::prefetch, std::move(after));
  op_at(sort_).lookups = keys.of;
  op_at(sort_).sort_bits = std::bit_width(static_cast<unsigned>(program_.world_size - 1));
}

void Lowering::exchange_keys() {
  if (!exchanges()) return;
  wait_ = add("host_wait", {OpRole::wait_for_splits}, Stream::host, {sort_});
  op_at(wait_).kernels = kWaitKernels;
  exchange_inputs();
  std::vector<double> bytes = received_bytes();
  for (double& each : bytes) each *= kDistributePasses;
  recat_ = add_pass("distribute_keys", {OpRole::recat}, Stream::prefetch, std::move(bytes), inputs_);
  op_at(recat_).kernels = kDistributeKernels;
}

std::vector<int> Lowering::updates() const {
  std::vector<int> ids;
  for (const GroupOps& ops : ops_) {
    for (std::size_t part = 0; part < ops.lookups.size(); ++part) ids.push_back(ops.update(part));
  }
  for (const Op& op : program_.ops) {
    if (op.role == OpRole::dense_update) ids.push_back(op.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

// An iteration follows all updates of the one before, and the keys that came during it. The reader copies a batch ahead
// of its exchange, when the one three before it is through.
void Lowering::connect_hugectr() {
  say_batches_ahead();
  op_at(copy_).after_previous = {last_compute()};
  if (keep_ < 0) return;
  op_at(permute_).after_previous = {copy_};
  std::vector<int> before = updates();
  before.push_back(recat_);
  std::sort(before.begin(), before.end());
  op_at(keep_).after_previous = std::move(before);
}

void Lowering::add_indices() {
  if (!index_apart()) return;
  for (const std::size_t index : forward_order()) {
    const FusionGroup& group = groups_[index];
    for (const LookupPart& part : group.parts) {
      Op& op = add_row_work("index_", OpRole::index_rows, group, part, before_lookup(), Stream::side);
      op.lookups.values = part.of_ranks(part.lookups);
      op.hbm_bytes.values = op.lookups.values;
      for (double& bytes : op.hbm_bytes.values) bytes *= kIndexBytes;
      op.sort_bits = kIndexKeyBits;
      op.kernels = kIndexKernels;
      ops_[index].indices.push_back(op.id);
    }
  }
}

// Sets the facts that hbm_bytes do not tell apart. `vector_bytes`: of the vectors that it writes, or of the gradients
// that it reads.
void Lowering::add_fact(Op& op, const LookupPart& part, const std::vector<double>& vector_bytes) const {
  if (!workload_.hugectr_rows()) return;
  op.indexed = index_apart();
  op.in_place = hybrid() && op.op_class == OpClass::update;
  op.row_bytes.values = part.per_one(part.hugectr.row_bytes, part.lookups);
  op.vector_bytes.values = part.per_one(vector_bytes, hybrid() ? part.lookups : part.bags);
}

// HugeCTR looks up what is exchanged first; the lookup of replicated tables runs beside the exchange.
std::vector<std::size_t> Lowering::forward_order() const {
  std::vector<std::size_t> order;
  for (std::size_t index = 0; index < groups_.size(); ++index) order.push_back(index);
  if (workload_.hugectr_rows())
    std::stable_partition(order.begin(), order.end(), [&](std::size_t index) { return groups_[index].exchanges(); });
  return order;
}

}  // namespace shardsim
