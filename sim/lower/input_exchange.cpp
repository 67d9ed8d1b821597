#include <algorithm>

#include "sim/lower/lowering.h"

namespace shardsim {
namespace {

constexpr std::int64_t kSplitBytes = 8;
constexpr int kUniqueKernels = 8;  // beside the sort: seven passes and the numbers that are sorted with the ids
// Count of lengths, count of ids, stride; one more with weights, and one with batches of features' own.
constexpr std::int64_t kSplits = 3;

std::int64_t splits_of(const FusionGroup& group) {
  return kSplits + (group.weighted ? 1 : 0) + (group.strides.empty() ? 0 : 1);
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

// Without a pipeline everything that is no collective is launched on the compute stream.
Stream Lowering::stream(Stream wanted) const {
  return !pipelined() ? Stream::compute : wanted;
}

// TorchRec (distributed/embedding.py, _dedup_indices): the different ids of each table, and where in them each id
// stands.
int Lowering::deduplicate_ids(Stream stream, std::vector<int> after) {
  const OwnAmount ids = sum_of(&FusionGroup::own_duplicated_ids);
  if (!ids.any) return -1;
  const OwnAmount bytes = kUniquePassBytes * ids + kKeptIdBytes * sum_of(&FusionGroup::own_kept_ids);
  const int id = add_pass("deduplicate_ids", {OpRole::deduplicate_ids}, stream, bytes.of.values, std::move(after));
  op_at(id).lookups = ids.of;
  op_at(id).sort_bits = 8 * kUniqueIdBytes;
  op_at(id).kernels = kUniqueKernels;
  return id;
}

void Lowering::exchange_ids_only() {
  const int unique = deduplicate_ids(Stream::compute, {});
  for (std::size_t index = groups_.size(); index-- > 0;) {
    const FusionGroup& group = groups_[index];
    if (!group.exchanges()) continue;
    const std::vector<int> after = {group.removes_duplicates() ? unique : -1};
    ops_[index].ids =
        add_exchange("input_all_to_all", group.as(OpRole::exchange_ids), group.group, group.ids, ids_dtype(), after);
  }
}

OwnAmount Lowering::own_input_bytes() const {
  OwnAmount bytes;
  for (const FusionGroup& group : groups_) bytes += group.own_input_bytes;
  return bytes;
}

OwnAmount Lowering::sum_of(OwnAmount FusionGroup::*amount) const {
  OwnAmount sum;
  for (const FusionGroup& group : groups_)
    if (takes_turn(group)) sum += group.*amount;
  return sum;
}

void Lowering::copy_to_device() {
  if (software_ != nullptr && !software_->input_copies) return;
  const Stream on = workload_.base_pipeline() ? Stream::memcpy : stream(Stream::memcpy);
  copy_ = add("h2d_copy", {OpRole::copy_inputs}, on, {});
  op_at(copy_).host_bytes = own_input_bytes().of;
}

void Lowering::permute() {
  const Stream on = stream(Stream::data_dist);
  const int unique = deduplicate_ids(on, {copy_});
  if (permute_first_ < 0) permute_first_ = unique;
  if (!exchanges()) return;
  OwnAmount sent, rows, tiers;
  for (const FusionGroup& group : groups_) {
    if (!takes_turn(group)) continue;
    sent += group.sent_inputs;
    if (in_rows(group.strategy)) rows += group.sent_inputs;
    tiers += (2 * workload_.id_bytes + kPositionBytes) * group.own_tier_ids;
  }
  std::vector<int> after = {unique < 0 ? copy_ : unique};
  if (tiers.any) {
    after = {add_pass("tier_split", {OpRole::split_tiers}, on, tiers.of.values, after)};
    if (permute_first_ < 0) permute_first_ = after.front();
  }
  after = {permute_ = add_pass("feature_permute", {OpRole::permute_inputs}, on, (2 * sent).of.values, after)};
  if (permute_first_ < 0) permute_first_ = permute_;
  if (rows.any) permute_ = add_pass("bucketize", {OpRole::bucketize}, on, (2 * rows).of.values, after);
}

void Lowering::add_splits(const std::string& matrix, int fusion, const std::string& group, std::int64_t numbers) {
  if (numbers == 0) return;
  const auto members = static_cast<std::int64_t>(program_.groups.at(group).front().size());
  program_.matrices.push_back({matrix, {ByteMatrix::Kind::even, kSplitBytes, {numbers * members}, {}, false}});
  const MatrixUse use{static_cast<int>(program_.matrices.size()) - 1, false};
  splits_.push_back(
      add_exchange("input_splits_all_to_all", {OpRole::exchange_splits, fusion}, group, use, "int64", {permute_}));
}

// A pipeline fuses the splits of all modules and types; without one each of them has a call of its own.
void Lowering::exchange_splits() {
  if (!pipelined()) {
    for (std::size_t index = groups_.size(); index-- > 0;) {
      const FusionGroup& group = groups_[index];
      if (takes_turn(group) && group.exchanges())
        add_splits(program_.fusions[group.index].name + "_splits", group.index, group.group, splits_of(group));
    }
    return;
  }
  for (const char* const name : {"world", "node"}) {
    std::int64_t numbers = 0;
    for (const FusionGroup& group : groups_) numbers += group.group == name ? splits_of(group) : 0;
    add_splits(std::string(name) + "_splits", -1, name, numbers);
  }
}

void Lowering::wait_for_splits() {
  if (exchanges()) wait_ = add("host_wait", {OpRole::wait_for_splits}, stream(Stream::host), splits_);
}

void Lowering::exchange_inputs_of(const FusionGroup& group, GroupOps& ops) {
  const auto send = [&](const char* name, OpRole role, MatrixUse matrix, const std::string& dtype) {
    const int id = add_exchange(name, group.as(role), group.group, matrix, dtype, {wait_});
    if (id >= 0) inputs_.push_back(id);
    return id;
  };
  if (!group.lengths.empty()) send("input_lengths_all_to_all", OpRole::exchange_lengths, group.lengths, "int32");
  ops.ids = send("input_all_to_all", OpRole::exchange_ids, group.ids, ids_dtype());
  if (!group.strides.empty()) send("input_strides_all_to_all", OpRole::exchange_lengths, group.strides, "int64");
  if (group.weighted) send("input_weights_all_to_all", OpRole::exchange_weights, group.weights, "fp32");
}

void Lowering::exchange_inputs() {
  for (std::size_t index = groups_.size(); index-- > 0;) {
    const FusionGroup& group = groups_[index];
    if (takes_turn(group) && group.exchanges()) exchange_inputs_of(group, ops_[index]);
  }
}

std::vector<double> Lowering::received_bytes() const {
  std::vector<double> bytes(program_.world_size, 0.0);
  for (const FusionGroup& group : groups_) {
    if (!takes_turn(group)) continue;
    for (std::size_t rank = 0; rank < group.owner_inputs.size(); ++rank) bytes[rank] += 2 * group.owner_inputs[rank];
  }
  return bytes;
}

void Lowering::recat() {
  if (!exchanges()) return;
  recat_ = add_pass("recat", {OpRole::recat}, stream(Stream::data_dist), received_bytes(), inputs_);
}

void Lowering::prefetch_rows() {
  std::vector<double> fetched(program_.world_size, 0.0);
  bool any = false;
  for (const FusionGroup& group : groups_) {
    if (!takes_turn(group)) continue;
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
  const Stream on = workload_.fetches_ahead() && full() ? Stream::prefetch : lookup_stream();
  const std::vector<int> after = !pipelined() && !full() ? all_ids() : std::vector<int>{recat_};
  fetch_ = fetch_stored_rows(on, after);
  prefetch_ =
      add_pass("cache_prefetch", {OpRole::prefetch_rows}, on, fetched, fetch_ >= 0 ? std::vector<int>{fetch_} : after);
  op_at(prefetch_).host_bytes = op_at(prefetch_).hbm_bytes;
  if (fetch_ >= 0) write_stored_rows(fetch_, prefetch_);
}

int Lowering::prefetch_beside(const LookupPart& part) const {
  const bool ahead = workload_.fetches_ahead() && full();
  return ahead && part.memory == RowMemory::cached ? prefetch_ : -1;
}

// A cache is never filled while its rows are updated: a row without room that the next batch brings in would lack its
// update. In FBGEMM hooks around the backward pass see to it (_update_cache_counter_and_locations and
// _sync_stream_post_backward of split_table_batched_embeddings_ops_training.py; of key-value stores those of
// ssd/training.py): it waits for the prefetch of the next batch, and the one after that for it.
void Lowering::keep_from_updates() {
  for (const FusionGroup& group : groups_) {
    const GroupOps& ops = ops_[static_cast<std::size_t>(group.index)];
    for (std::size_t part = 0; part < group.parts.size(); ++part) {
      if (prefetch_beside(group.parts[part]) < 0) continue;
      op_at(fetch_ >= 0 ? fetch_ : prefetch_).after_previous.push_back(ops.update(part));
    }
  }
}

void Lowering::connect_pipeline() {
  say_batches_ahead();
  keep_from_updates();
  if (workload_.base_pipeline()) connect_copy();
  if (workload_.staged()) connect_stages();
  if (permute_first_ >= 0 && !workload_.staged()) follow(op_at(permute_first_), copy_);
  launch_behind_wait();
  if (wait_ >= 0) {
    for (const int id : splits_) follow(op_at(wait_), id);
  }
  if (prefetch_ >= 0 && recat_ < 0 && pipelined()) {
    const int first = fetch_ >= 0 ? fetch_ : prefetch_;
    for (const int id : all_ids()) op_at(first).after_previous.push_back(id);
  }
  if (recat_ < 0) return;
  for (const int id : inputs_) follow(op_at(recat_), id);
}

// Each stage takes what the one before it made of the batch in the iteration before.
void Lowering::connect_stages() {
  int before = copy_;
  for (const int transform : transforms_) {
    op_at(transform).after_previous.push_back(before);
    if (wait_ >= 0) op_at(transform).after_previous.push_back(wait_);
    before = transform;
  }
  if (permute_first_ >= 0 && before >= 0) op_at(permute_first_).after_previous.push_back(before);
}

// The host copies the next batch once it has launched the forward pass of this one. Where no ids are exchanged it is
// the lookups that need it.
void Lowering::connect_copy() {
  if (copy_ < 0) return;
  op_at(copy_).batches_ahead = 1;
  if (wait_ >= 0) follow(op_at(copy_), wait_);
  for (const GroupOps& ops : ops_) {
    for (const int lookup : ops.lookups) {
      if (wait_ >= 0) {  // of a module that exchanges nothing, and whose ids no permute brings
        if (op_at(lookup).after.empty()) follow(op_at(lookup), copy_);
        continue;
      }
      follow(op_at(copy_), lookup);
      follow(op_at(lookup), copy_);
    }
  }
}

// Sets how far ahead of the trained batch each step works, in TorchRec's pipelines. With ids alone a pipeline moves
// their exchange and nothing else.
void Lowering::say_batches_ahead() {
  if (!pipelined()) return;
  if (workload_.semi_sync()) return say_semi_sync();
  if (workload_.staged()) return say_staged();
  const bool prefetch = workload_.pipeline == "prefetch_sparse_dist";
  for (Op& op : program_.ops) {  // roles are in the order in which a batch meets them
    if (op.role == OpRole::none || op.role > OpRole::prefetch_rows) continue;
    if (op.role == OpRole::copy_inputs) {
      op.batches_ahead = 2;
    } else if (workload_.hugectr_pipeline()) {
      op.batches_ahead = 1;
    } else if (op.role <= OpRole::exchange_splits && full()) {
      op.batches_ahead = prefetch ? 2 : 1;
    } else {
      op.batches_ahead =
          op.role <= OpRole::exchange_weights || (prefetch && full()) || (op.id == index_ && !indices_in_line()) ? 1
                                                                                                                 : 0;
    }
  }
}

// One batch farther ahead than in sparse_dist, up to the vectors.
void Lowering::say_semi_sync() {
  for (Op& op : program_.ops) {
    if (op.role == OpRole::none || op.role > OpRole::exchange_output) continue;
    if (op.fusion >= 0 && !groups_[static_cast<std::size_t>(op.fusion)].sharded) continue;
    if (op.role == OpRole::copy_inputs) {
      op.batches_ahead = 3;
    } else {
      op.batches_ahead = op.role <= OpRole::exchange_weights ? 2 : 1;
    }
  }
}

// As many batches ahead as stages follow. The exchange of ids ends behind the forward pass, one batch before its rows
// are fetched or looked up.
void Lowering::say_staged() {
  const int stages = static_cast<int>(workload_.stages.size()), fetched = workload_.fetches_ahead() ? 1 : 0;
  int transformed = stages;
  for (Op& op : program_.ops) {
    if (op.role == OpRole::none || op.role > OpRole::prefetch_rows) continue;
    if (op.role == OpRole::copy_inputs) {
      op.batches_ahead = stages;
    } else if (op.role == OpRole::transform_inputs) {
      op.batches_ahead = --transformed;
    } else {
      op.batches_ahead = op.role <= OpRole::exchange_weights ? 1 + fetched : fetched;
    }
  }
}

// The host copies and permutes a later batch once it has the splits of an earlier one. Where it waits for none, a batch
// is copied when the one three before it is through: TorchRec's pipelines hold three.
void Lowering::launch_behind_wait() {
  if (copy_ < 0 || !pipelined()) return;
  const int before = wait_ >= 0 ? wait_ : last_compute();
  follow(op_at(copy_), before);
  if (permute_first_ >= 0) follow(op_at(permute_first_), before);
}

std::vector<int> Lowering::all_ids() const {
  std::vector<int> ids;
  for (const GroupOps& ops : ops_) ids.push_back(ops.ids);
  std::erase(ids, -1);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace shardsim
