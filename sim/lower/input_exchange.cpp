#include "sim/lower/input_exchange.h"

#include <algorithm>

namespace shardsim {
namespace {

constexpr std::int64_t kSplitBytes = 8;
constexpr std::int64_t kSplits = 3;  // count of lengths, count of ids, stride; one more with weights

std::int64_t splits_of(const FusionGroup& group) {
  return kSplits + (group.weighted ? 1 : 0);
}

// Operations added later than those that wait for them: of the previous iteration.
void follow(Op& op, int of) {
  if (of < 0) return;
  if (of < op.id) {
    if (std::find(op.after.begin(), op.after.end(), of) == op.after.end()) op.after.push_back(of);
    std::sort(op.after.begin(), op.after.end());
  } else if (std::find(op.after_previous.begin(), op.after_previous.end(), of) == op.after_previous.end()) {
    op.after_previous.push_back(of);
  }
}

}  // namespace

InputExchange::InputExchange(OpList& ops, const std::vector<FusionGroup>& groups, const Workload& workload)
    : ops_(ops), groups_(groups), workload_(workload), ids_(groups.size(), -1) {}

// Without a pipeline everything that is no collective is launched on the compute stream.
Stream InputExchange::stream(Stream wanted) const {
  return workload_.pipeline == "none" ? Stream::compute : wanted;
}

void InputExchange::exchange_ids_only() {
  for (std::size_t index = groups_.size(); index-- > 0;) {
    const FusionGroup& group = groups_[index];
    if (!group.exchanges()) continue;
    ids_[index] =
        ops_.add_exchange("input_all_to_all", group.as(OpRole::exchange_ids), group.group, group.ids, ids_dtype(), {});
  }
}

double InputExchange::own_input_bytes() const {
  double bytes = 0;
  for (const FusionGroup& group : groups_) bytes += group.own_ids * workload_.id_bytes + group.own_extra_input;
  return bytes;
}

void InputExchange::copy_to_device() {
  copy_ = ops_.add("h2d_copy", {OpRole::copy_inputs}, stream(Stream::memcpy), {});
  ops_.op(copy_).host_bytes.values = {own_input_bytes()};
}

void InputExchange::permute() {
  if (!any_exchange()) return;
  double sent = 0, rows = 0, tiers = 0;
  for (const FusionGroup& group : groups_) {
    sent += group.sent_inputs;
    if (in_rows(group.strategy)) rows += group.sent_inputs;
    tiers += group.own_tier_ids * (2 * workload_.id_bytes + kPositionBytes);
  }
  const Stream on = stream(Stream::data_dist);
  std::vector<int> after = {copy_};
  if (tiers > 0) after = {permute_first_ = ops_.add_pass("tier_split", {OpRole::split_tiers}, on, {tiers}, after)};
  after = {permute_ = ops_.add_pass("feature_permute", {OpRole::permute_inputs}, on, {2 * sent}, after)};
  if (permute_first_ < 0) permute_first_ = permute_;
  if (rows > 0) permute_ = ops_.add_pass("bucketize", {OpRole::bucketize}, on, {2 * rows}, after);
}

void InputExchange::add_splits(const std::string& matrix, int fusion, const std::string& group, std::int64_t numbers) {
  if (numbers == 0) return;
  Program& program = ops_.program();
  const auto members = static_cast<std::int64_t>(program.groups.at(group).front().size());
  program.matrices.push_back({matrix, {ByteMatrix::Kind::even, kSplitBytes, {numbers * members}, {}, false}});
  const MatrixUse use{static_cast<int>(program.matrices.size()) - 1, false};
  splits_.push_back(
      ops_.add_exchange("input_splits_all_to_all", {OpRole::exchange_splits, fusion}, group, use, "int64", {permute_}));
}

// A pipeline fuses the splits of all modules and types; without one each of them has a call of its own.
void InputExchange::exchange_splits() {
  if (workload_.pipeline == "none") {
    for (std::size_t index = groups_.size(); index-- > 0;) {
      const FusionGroup& group = groups_[index];
      if (group.exchanges())
        add_splits(ops_.program().fusions[group.index].name + "_splits", group.index, group.group, splits_of(group));
    }
    return;
  }
  for (const char* const name : {"world", "node"}) {
    std::int64_t numbers = 0;
    for (const FusionGroup& group : groups_) numbers += group.group == name ? splits_of(group) : 0;
    add_splits(std::string(name) + "_splits", -1, name, numbers);
  }
}

void InputExchange::wait_for_splits() {
  if (any_exchange()) wait_ = ops_.add("host_wait", {OpRole::wait_for_splits}, stream(Stream::host), splits_);
}

void InputExchange::exchange_inputs_of(const FusionGroup& group, std::size_t index) {
  const auto add = [&](const char* name, OpRole role, MatrixUse matrix, const std::string& dtype) {
    const int id = ops_.add_exchange(name, group.as(role), group.group, matrix, dtype, {wait_});
    if (id >= 0) inputs_.push_back(id);
    return id;
  };
  add("input_lengths_all_to_all", OpRole::exchange_lengths, group.lengths, "int32");
  ids_[index] = add("input_all_to_all", OpRole::exchange_ids, group.ids, ids_dtype());
  if (group.weighted) add("input_weights_all_to_all", OpRole::exchange_weights, group.weights, "fp32");
}

void InputExchange::exchange_inputs() {
  for (std::size_t index = groups_.size(); index-- > 0;) {
    if (groups_[index].exchanges()) exchange_inputs_of(groups_[index], index);
  }
}

std::vector<double> InputExchange::received_bytes() const {
  std::vector<double> bytes(ops_.program().world_size, 0.0);
  for (const FusionGroup& group : groups_) {
    for (std::size_t rank = 0; rank < group.owner_inputs.size(); ++rank) bytes[rank] += 2 * group.owner_inputs[rank];
  }
  return bytes;
}

void InputExchange::recat() {
  if (!any_exchange()) return;
  recat_ = ops_.add_pass("recat", {OpRole::recat}, stream(Stream::data_dist), received_bytes(), inputs_);
}

void InputExchange::prefetch_rows() {
  std::vector<double> fetched(ops_.program().world_size, 0.0);
  bool any = false;
  for (const FusionGroup& group : groups_) {
    for (const LookupPart& part : group.parts) {
      if (part.memory != RowMemory::cached) continue;
      any = true;
      for (std::size_t rank = 0; rank < fetched.size(); ++rank) {
        fetched[rank] += part.fetched_bytes[part.fetched_bytes.size() == 1 ? 0 : rank];
      }
    }
  }
  if (!any) return;
  // With ids alone it stands in front of the lookups, whatever the pipeline.
  const bool alone = !workload_.full_input_exchange();
  const Stream on = workload_.pipeline == "prefetch_sparse_dist" && !alone ? Stream::prefetch : Stream::compute;
  const std::vector<int> after = workload_.pipeline == "none" && alone ? all_ids() : std::vector<int>{recat_};
  prefetch_ = ops_.add_pass("cache_prefetch", {OpRole::prefetch_rows}, on, fetched, after);
  ops_.op(prefetch_).host_bytes = ops_.op(prefetch_).hbm_bytes;
}

void InputExchange::connect_pipeline() {
  say_batches_ahead();
  if (permute_first_ >= 0) follow(ops_.op(permute_first_), copy_);
  launch_behind_wait();
  if (wait_ >= 0) {
    for (const int id : splits_) follow(ops_.op(wait_), id);
  }
  if (prefetch_ >= 0 && recat_ < 0 && workload_.pipeline != "none") {
    for (const int id : all_ids()) ops_.op(prefetch_).after_previous.push_back(id);
  }
  if (recat_ < 0) return;
  for (const int id : inputs_) follow(ops_.op(recat_), id);
}

// How far ahead of the trained batch each step works, in TorchRec's pipelines. With ids alone a pipeline moves their
// exchange and nothing else.
void InputExchange::say_batches_ahead() {
  if (workload_.pipeline == "none") return;
  const bool full = workload_.full_input_exchange(), prefetch = workload_.pipeline == "prefetch_sparse_dist";
  for (Op& op : ops_.program().ops) {
    switch (op.role) {
      case OpRole::copy_inputs:
        op.batches_ahead = 2;
        break;
      case OpRole::split_tiers:
      case OpRole::permute_inputs:
      case OpRole::bucketize:
      case OpRole::exchange_splits:
        op.batches_ahead = prefetch ? 2 : 1;
        break;
      case OpRole::wait_for_splits:
      case OpRole::exchange_lengths:
      case OpRole::exchange_ids:
      case OpRole::exchange_weights:
        op.batches_ahead = 1;
        break;
      case OpRole::recat:
      case OpRole::prefetch_rows:
        op.batches_ahead = prefetch && full ? 1 : 0;
        break;
      default:
        break;
    }
  }
}

// The host copies and permutes a later batch once it has the splits of an earlier one. Where it waits for none, a batch
// is copied when the one three before it is through: TorchRec's pipelines hold three.
void InputExchange::launch_behind_wait() {
  if (copy_ < 0 || workload_.pipeline == "none") return;
  const int before = wait_ >= 0 ? wait_ : ops_.last_compute();
  follow(ops_.op(copy_), before);
  if (permute_first_ >= 0) follow(ops_.op(permute_first_), before);
}

std::vector<int> InputExchange::all_ids() const {
  std::vector<int> ids = ids_;
  std::erase(ids, -1);
  std::sort(ids.begin(), ids.end());
  return ids;
}

bool InputExchange::any_exchange() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const FusionGroup& group) { return group.exchanges(); });
}

}  // namespace shardsim
