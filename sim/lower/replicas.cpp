#include <algorithm>
#include <functional>

#include "program/program.h"
#include "sim/lower/group_copies.h"
#include "sim/lower/lowering.h"

namespace shardsim {
namespace {

// The state `sum` of both kinds of Adagrad is the only one that TorchRec averages.
std::int64_t averaged_state_bytes(const std::string& optimizer, std::int64_t columns) {
  const bool has_sum = optimizer == "rowwise_adagrad" || optimizer == "adagrad";
  return has_sum ? optimizer_row_bytes(optimizer, columns) : 0;
}

}  // namespace

// By rank: of the rows that it holds and that gradients are not reduced for, which keeps copies equal.
std::vector<std::int64_t> Lowering::held_bytes(
    const std::function<std::int64_t(const Program::Shard&)>& row_bytes) const {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(program_.world_size), 0);
  for (const Program::Shard& shard : program_.shards) {
    if (replicated(shard.strategy)) continue;
    const std::vector<int>& holders = shard.holders.front();
    for (std::size_t position = 0; position < holders.size(); ++position) {
      const std::int64_t rows = rows_of_piece(shard, shard.shards() > 1 ? static_cast<int>(position) : 0);
      bytes[static_cast<std::size_t>(holders[position])] += rows * row_bytes(shard);
    }
  }
  return bytes;
}

// The call is made behind all that the compute stream has so far, and the stream waits for it.
void Lowering::average(const std::string& name, std::vector<std::int64_t> bytes, Dtype dtype) {
  if (std::ranges::all_of(bytes, [](std::int64_t each) { return each == 0; })) return;
  std::vector<int> after = averages_;
  const int compute = stream_number(Stream::compute), rows = stream_number(lookup_stream());
  for (const Op& op : program_.ops) {
    const bool waits = op.stream == compute || op.stream == rows || op.role == OpRole::restore_rows;
    if (waits && op.batches_ahead == 0 && op.role > OpRole::dense_forward) after.push_back(op.id);
  }
  const int id = add(name, {OpRole::average_replicas}, Stream::replica, std::move(after));
  op_at(id).group = kReplicaGroup;
  op_at(id).dtype = dtype_name(dtype);
  op_at(id).every = static_cast<int>(workload_.sharding_groups->sync_every);
  op_at(id).bytes = std::ranges::max(bytes);
  if (std::ranges::min(bytes) != op_at(id).bytes) op_at(id).bytes_by_set = std::move(bytes);
  averages_.push_back(id);
}

// DMPCollection.sync() (pytorch/torchrec torchrec/distributed/model_parallel.py): rows by type, then states.
void Lowering::average_replicas() {
  if (sharding_groups_ < 2 || workload_.sharding_groups->sync_every == 0) return;
  const auto dtype_of = [&](const Program::Shard& shard) {
    return program_.tables[static_cast<std::size_t>(shard.table)].dtype;
  };
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16, Dtype::int8}) {
    const auto of_type = [&](const Program::Shard& shard) {
      return dtype_of(shard) == dtype ? shard.columns() * dtype_bytes(dtype) : 0;
    };
    average("replica_rows_all_reduce", held_bytes(of_type), dtype);
  }
  if (!workload_.sharding_groups->sync_states) return;
  const auto state = [&](const Program::Shard& shard) {
    return averaged_state_bytes(workload_.optimizer, shard.columns());
  };
  average("replica_states_all_reduce", held_bytes(state), Dtype::fp32);
}

// Moves the rows of its shards, in as many elements as the replicas can share evenly.
int Lowering::add_sharded(const char* name, OpRole role, const FusionGroup& group, std::vector<int> after) {
  const int id = add(name, group.as(role), Stream::replica, std::move(after));
  op_at(id).group = kReplicaGroup;
  return id;
}

// ShardedBatchedFusedEmbeddingBag.forward (torchrec/distributed/batched_embedding_kernel.py): the call is made on a
// stream of its own, behind the lookup.
int Lowering::scatter_rows(const FusionGroup& group, const LookupPart& part, int lookup) {
  const bool shards = sharding_groups_ > 1 && workload_.sharding_groups->fully_sharded;
  if (!shards || part.dense_gradient || replicated(group.strategy)) return -1;
  const Dtype dtype = program_.table_of(part.shards.front()).dtype;
  std::vector<std::int64_t> bytes = held_bytes([&](const Program::Shard& shard) {
    const bool has =
        std::ranges::find(part.shards, static_cast<int>(&shard - program_.shards.data())) != part.shards.end();
    return has ? shard.columns() * dtype_bytes(dtype) : 0;
  });
  const std::int64_t together = std::int64_t{sharding_groups_} * dtype_bytes(dtype);
  for (std::int64_t& each : bytes) each = (each + together - 1) / together * together;
  if (std::ranges::max(bytes) == 0) return -1;
  const int id = add_sharded("replica_rows_reduce_scatter", OpRole::scatter_rows, group, {lookup});
  op_at(id).dtype = dtype_name(dtype);
  op_at(id).bytes = std::ranges::max(bytes);
  if (std::ranges::min(bytes) != op_at(id).bytes) op_at(id).bytes_by_set = std::move(bytes);
  return id;
}

// Before the lookup's backward pass, and all that is launched behind it waits.
int Lowering::gather_rows(const FusionGroup& group, int scatter, std::vector<int> after) {
  if (scatter < 0) return -1;
  const int on = stream_number(lookup_stream());
  const auto last =
      std::find_if(program_.ops.rbegin(), program_.ops.rend(), [&](const Op& op) { return op.stream == on; });
  after.push_back(scatter);
  if (last != program_.ops.rend()) after.push_back(last->id);
  const int id = add_sharded("replica_rows_all_gather", OpRole::gather_rows, group, std::move(after));
  op_at(id).dtype = op_at(scatter).dtype;
  op_at(id).bytes = op_at(scatter).bytes;
  op_at(id).bytes_by_set = op_at(scatter).bytes_by_set;
  return id;
}

// Operations that take the vectors of a lookup wait until its rows are away (ReduceScatterResizeAwaitable).
void Lowering::await_scatters() {
  for (std::size_t index = 0; index < groups_.size(); ++index) {
    const int group = groups_[index].index;
    for (const int scatter : ops_[index].scatters) {
      if (scatter < 0) continue;
      const auto takes = [&](const Op& op) {
        if (op.id < scatter) return false;
        const bool own =
            op.role == OpRole::order_output || op.role == OpRole::decode_output || op.role == OpRole::gather_rows;
        if (own) return op.fusion == group;
        return op.role == OpRole::merge_tiers || op.role == OpRole::restore_duplicates ||
               op.role == OpRole::dense_forward;
      };
      std::vector<int>& after = std::ranges::find_if(program_.ops, takes)->after;
      if (std::ranges::find(after, scatter) == after.end()) after.push_back(scatter);
      std::ranges::sort(after);
    }
  }
}

}  // namespace shardsim
