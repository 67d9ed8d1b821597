#include "sim/lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "plan/check.h"
#include "plan/sharding_groups.h"
#include "sim/lower/group_copies.h"
#include "sim/lower/host/host_launches.h"
#include "sim/lower/lowering.h"

namespace shardsim {
namespace {

void write_shards(Program& program, const Plan& plan, const Workload& workload) {
  for (std::size_t index = 0; index < plan.placements.size(); ++index) {
    const Placement& placement = plan.placements[index];
    Program::Shard shard{placement};
    shard.compute_kernel = Placement{}.compute_kernel;
    shard.cache_load_factor = Placement{}.cache_load_factor;
    if (placement.rows() < workload.tables[placement.table].rows) shard.tier = tier_of(plan, index);
    program.shards.push_back(shard);
  }
}

// Ranks that hold the same shard in each replica group: they all-reduce its gradient.
std::vector<std::vector<int>> across(const std::vector<std::vector<int>>& replica_groups) {
  std::vector<std::vector<int>> groups(replica_groups.front().size());
  for (const std::vector<int>& replicas : replica_groups) {
    for (std::size_t position = 0; position < replicas.size(); ++position) {
      groups[position].push_back(replicas[position]);
    }
  }
  return groups;
}

// The nodes themselves, which table_row_wise and grid_shard reduce in.
std::vector<std::vector<int>> nodes_of(const Program& program) {
  std::vector<std::vector<int>> nodes(program.world_size / program.ranks_per_node);
  for (int rank = 0; rank < program.world_size; ++rank) nodes[rank / program.ranks_per_node].push_back(rank);
  return nodes;
}

void add_node_groups(Program& program, const std::vector<std::vector<int>>& sets, const Place& place) {
  if (program.groups.contains("node") && program.groups["node"] != sets) {
    throw input_error(
        place,
        "the replica groups of flex rows differ from those of another table, or are not the nodes within which "
        "table_row_wise and grid_shard reduce",
        "Use the same replica_groups for all flex rows, and whole nodes together with those sharding types");
  }
  program.groups["node"] = sets;
  program.groups["cross_node"] = across(sets);
}

void write_groups(Program& program, const Plan& plan, const Workload& workload) {
  program.groups["world"] = {all_ranks(program.world_size)};
  for (const Placement& placement : plan.placements) {
    const Table& table = workload.tables[placement.table];
    const bool in_nodes = within_node(placement.strategy) ||
                          (placement.strategy == Strategy::row_wise && workload.output_exchange == "hierarchical");
    const bool reduces = table.kind == TableKind::pooled && in_nodes && in_rows(placement.strategy);
    if (placement.strategy == Strategy::flex) add_node_groups(program, placement.holders, table.place);
    if (reduces) add_node_groups(program, nodes_of(program), table.place);
  }
}

// By which hash the rows of cut tables get their owners.
void place_rows(Program& program, const Plan& plan, const LoweringOptions& options) {
  program.hash_seed = options.row_draw ? static_cast<std::uint64_t>(*options.row_draw)
                                       : options.load.placement.value_or(plan.hash_seed);
  if (options.row_draw) return;
  for (Table& table : program.tables) table.row_key.clear();
}

// Sizes, tables, shards, groups, the stream `compute`; no matrices and operations.
Program program_frame(const Plan& plan, const Workload& workload, const Cluster& cluster,
                      const LoweringOptions& options) {
  Program program;
  program.world_size = cluster.world_size();
  program.ranks_per_node = cluster.ranks_per_node();
  program.batch_per_rank = workload.batch_per_gpu;
  program.id_bytes = workload.id_bytes;
  program.tables = workload.tables;
  for (Table& table : program.tables) {  // what plan files and exchanges say of them
    table.module.clear();
    table.wire_forward = table.wire_backward = std::nullopt;
  }
  place_rows(program, plan, options);
  program.streams = {"compute"};
  write_shards(program, plan, workload);
  write_groups(program, plan, workload);
  return program;
}

void hold(Program& program, Seconds time, const std::function<bool(const Op&)>& belongs) {
  std::vector<int> ids;
  std::vector<double> bytes;
  for (const Op& op : program.ops) {
    if (!belongs(op)) continue;
    ids.push_back(op.id);
    bytes.push_back(*std::max_element(op.hbm_bytes.values.begin(), op.hbm_bytes.values.end()));
  }
  if (std::accumulate(bytes.begin(), bytes.end(), 0.0) <= 0) bytes.assign(ids.size(), 1.0);
  const auto parts = split_by_largest_remainder(std::llround(time.value * 1e9), bytes);
  // 0 ns of an operation means that nobody measured it. One that was measured to take nothing takes the least there is.
  constexpr std::int64_t kLeast = 1;
  for (std::size_t part = 0; part < ids.size(); ++part) program.ops[ids[part]].fixed_ns = std::max(kLeast, parts[part]);
}

// Gives the compute operations the times of a measured rest: each class takes exactly its time, shared among its
// operations in proportion to their bytes, in whole nanoseconds.
void hold_measured_times(Program& program, const MeasuredRest& measured) {
  if (!measured.simulates_embeddings) {
    hold(program, measured.lookup.time, [](const Op& op) { return op.op_class == OpClass::lookup; });
    hold(program, measured.update.time, [](const Op& op) { return op.op_class == OpClass::update; });
  } else {
    constexpr Seconds kNothing{1e-9};  // the optimizer of the dense part is in its backward pass
    hold(program, kNothing, [](const Op& op) { return op.role == OpRole::dense_update; });
  }
  hold(program, measured.dense_forward.time,
       [](const Op& op) { return op.role == OpRole::dense_forward || op.role == OpRole::bottom_forward; });
  hold(program, measured.dense_backward.time,
       [](const Op& op) { return op.role == OpRole::dense_backward || op.role == OpRole::bottom_backward; });
}

constexpr const char* kStreamNames[] = {"compute", "world", "node",  "cross",    "memcpy",  "data_dist", "prefetch",
                                        "host",    "side",  "stash", "sharding", "replica", "lookup",    "store"};

// The streams of transforms are numbered.
std::string stream_name(Stream stream) {
  const int number = static_cast<int>(stream), first = static_cast<int>(Stream::transform);
  return number < first ? kStreamNames[number] : fmt::format("transform{}", number - first + 1);
}

Stream transform_stream(std::size_t number) {
  return static_cast<Stream>(static_cast<std::size_t>(Stream::transform) + number);
}

std::size_t transforms_of(const Workload& workload) {
  return static_cast<std::size_t>(std::ranges::count(workload.stages, "transform", &PipelineStage::does));
}

bool is_stored(const Placement& placement) {
  return row_store_of(placement) != RowStore::none;
}

std::vector<Stream> streams_of(const Workload& workload, bool grouped, bool stored) {
  std::vector<Stream> streams = {Stream::compute, Stream::world, Stream::node, Stream::cross};
  if (workload.hugectr_pipeline()) {
    streams.insert(streams.end(), {Stream::memcpy, Stream::prefetch, Stream::host});
  } else if (workload.full_input_exchange() && workload.base_pipeline()) {
    streams.push_back(Stream::memcpy);
  } else if (workload.full_input_exchange() && workload.pipeline != "none") {
    streams.insert(streams.end(), {Stream::memcpy, Stream::data_dist});
    if (workload.fetches_ahead()) streams.push_back(Stream::prefetch);
    streams.push_back(Stream::host);
    if (workload.fused_sparse_dist() && workload.fused_lookup.stream == "new") streams.push_back(Stream::lookup);
    for (std::size_t number = 0; number < transforms_of(workload); ++number)
      streams.push_back(transform_stream(number));
  }
  if (workload.hugectr_rows()) streams.push_back(Stream::side);
  if (workload.stash) streams.push_back(Stream::stash);
  if (grouped) streams.insert(streams.end(), {Stream::sharding, Stream::replica});
  if (stored) streams.push_back(Stream::store);
  return streams;
}

}  // namespace

Lowering::Lowering(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options,
                   int groups)
    : workload_(workload),
      sharding_groups_(groups),
      software_(options.software),
      launches_(options.launches),
      items_(options.drawn == nullptr ? nullptr : &options.drawn->items),
      program_(program_frame(plan, workload, cluster, options)),
      groups_(fuse(program_, plan, workload, cluster, options)),
      ops_(groups_.size()) {
  if (!options.overlap) return;
  streams_ = streams_of(workload, groups > 1, std::ranges::any_of(plan.placements, is_stored));
  program_.streams.clear();
  for (const Stream stream : streams_) program_.streams.push_back(stream_name(stream));
}

Program Lowering::take(const Cluster& cluster) {
  if (!full()) {
    ids_alone();
  } else if (workload_.input_exchange == "none") {
    prefetch_rows();  // every rank has the ids of the whole batch for its tables already
    backward(forward());
  } else if (workload_.base_pipeline()) {
    base();
  } else if (!pipelined()) {
    in_line();
  } else if (workload_.hugectr_pipeline()) {
    hugectr();
  } else if (workload_.pipeline == "sparse_dist") {
    sparse_dist();
  } else if (workload_.semi_sync()) {
    semi_sync();
  } else if (workload_.fused_sparse_dist()) {
    fused_sparse_dist();
  } else if (workload_.staged()) {
    staged();
  } else {
    prefetch_sparse_dist();
  }
  connect_iterations();
  if (workload_.dense.measured) hold_measured_times(program_, *workload_.dense.measured);
  if (software_ == nullptr) return std::move(program_);
  count_kernels(program_);
  if (!launches_) return std::move(program_);
  return with_host(std::move(program_), host_work(cluster));
}

HostWork Lowering::host_work(const Cluster& cluster) const {
  HostWork work{software_, cluster.spec().host.time_factor, operators_, 0, parameter_tensors(workload_.dense)};
  for (const Table& table : workload_.tables) {
    work.features += static_cast<double>(table.features.size());
    work.parameter_tensors += table.sharded ? 0 : 1;
  }
  return work;
}

// The exchange of ids is one call per group: of this batch, or with a pipeline of the next one.
void Lowering::ids_alone() {
  const bool behind = workload_.pipeline == "sparse_dist";
  if (!behind) exchange_ids_only();
  if (!behind || indices_in_line()) hybrid_indices();
  if (shuffles()) prefetch_rows();
  const std::vector<int> done = forward();
  if (behind) exchange_ids_only();
  if (behind && !indices_in_line()) hybrid_indices();
  backward(done);
}

// One batch after the other: ids, host wait, lookup and all else in line.
void Lowering::in_line() {
  copy_to_device();
  backward(collections_in_line());
}

// Returns what the backward pass follows. ShardedModule.forward (distributed/embedding_types.py) waits for the module's
// ids and then looks them up, so a module that is called later exchanges its ids behind the vectors of the one before.
std::vector<int> Lowering::collections_in_line() {
  if (!one_by_one()) {
    inputs_in_line();
    return forward();
  }
  const int modules = groups_.empty() ? 0 : groups_.back().module + 1;
  for (turn_ = 0; turn_ < modules; ++turn_) {
    permute_ = recat_ = fetch_ = prefetch_ = -1;
    splits_.clear();
    inputs_.clear();
    inputs_in_line();
    look_up();
  }
  turn_ = -1;
  stash_rows();
  return dense_part();
}

void Lowering::inputs_in_line() {
  permute();
  exchange_splits();
  wait_for_splits();
  exchange_inputs();
  recat();
  prefetch_rows();
}

// TrainPipelineBase.progress: the next batch is copied behind the forward pass, all else is in line.
void Lowering::base() {
  const std::vector<int> done = collections_in_line();
  copy_to_device();
  backward(done);
}

// TrainPipelineSparseDist.progress (pytorch/torchrec torchrec/distributed/train_pipeline/train_pipelines.py): splits
// of the next batch first, its ids behind the forward pass.
void Lowering::sparse_dist() {
  permute();
  exchange_splits();
  copy_to_device();
  recat();
  prefetch_rows();
  const std::vector<int> done = forward();
  wait_for_splits();
  exchange_inputs();
  backward(done);
}

// TrainPipelineSemiSync.progress: the dense part takes vectors that the iteration before has looked up, and the next
// batch is looked up in front of this one's backward pass, in rows that lack its update.
void Lowering::semi_sync() {
  permute();
  exchange_splits();
  const std::vector<int> done = dense_part();
  copy_to_device();
  recat();
  prefetch_rows();
  look_up();
  wait_for_splits();
  exchange_inputs();
  backward(done);
}

Stream Lowering::lookup_stream() const {
  if (!workload_.fused_sparse_dist() || workload_.fused_lookup.stream == "current") return Stream::compute;
  return workload_.fused_lookup.stream == "new" ? Stream::lookup : Stream::data_dist;
}

// TrainPipelineFusedSparseDist.progress: lookups of a batch wait for the update of their rows, and not for the
// optimizer of the dense part behind it; all else is that of sparse_dist.
void Lowering::fused_sparse_dist() {
  const auto look = [&] {
    recat();
    prefetch_rows();
    look_up();
  };
  if (!workload_.fused_lookup.after_input_dist) look();
  permute();
  exchange_splits();
  copy_to_device();
  if (workload_.fused_lookup.after_input_dist) look();
  const std::vector<int> done = dense_part();
  wait_for_splits();
  exchange_inputs();
  backward(done);
}

// StagedTrainPipeline.progress, then the user's loop: the stages from the newest batch on, the model's forward pass,
// whose hook waits for the splits (SparseDataDistUtil), and its backward pass.
void Lowering::staged() {
  copy_to_device();
  transform();
  const int copy = std::exchange(copy_, -1);  // of a later batch than the one whose ids are sent
  permute();
  copy_ = copy;
  exchange_splits();
  recat();
  prefetch_rows();
  const std::vector<int> done = forward();
  wait_for_splits();
  exchange_inputs();
  backward(done);
}

void Lowering::transform() {
  for (const PipelineStage& stage : workload_.stages) {
    if (stage.does != "transform") continue;
    transforms_.push_back(add_pass("transform_batch", {OpRole::transform_inputs}, transform_stream(transforms_.size()),
                                   {static_cast<double>(stage.bytes.count)}, {}));
  }
}

// PrefetchTrainPipelineSparseDist.progress: ids of the next batch first, its rows fetched during the backward pass,
// splits of the one after it last.
void Lowering::prefetch_sparse_dist() {
  copy_to_device();
  wait_for_splits();
  exchange_inputs();
  const std::vector<int> done = forward();
  recat();
  prefetch_rows();
  backward(done);
  permute();
  exchange_splits();
}

// The embedding collections of HugeCTR: counts of the next batch's keys are exchanged from the start, the keys once the
// host has the counts and has launched the dense part; they go before the gradients, since one communicator has all.
void Lowering::hugectr() {
  copy_to_device();
  keep_keys();
  count_keys();
  backward(forward());
}

// Rows must be updated before the next iteration reads them. Without a pipeline the next exchange of ids follows the
// last operation of this iteration; with one, the ids that a lookup needs came during the iteration before.
void Lowering::connect_iterations() {
  await_scatters();
  const int last = last_compute();
  for (const GroupOps& ops : ops_) {
    for (std::size_t part = 0; part < ops.lookups.size(); ++part) {
      std::vector<int>& before = op_at(ops.lookups[part]).after_previous;
      if (pipelined()) before = came_before(ops);
      before.push_back(ops.update(part));
    }
    if (ops.owned_rows >= 0) {
      std::vector<int>& before = op_at(ops.owned_rows).after_previous;
      if (pipelined()) before = came_before(ops);
      for (std::size_t part = 0; part < ops.lookups.size(); ++part) before.push_back(ops.update(part));
    }
    for (const int index : ops.indices) {
      if (pipelined()) op_at(index).after_previous = came_before(ops);
    }
    if (!pipelined() && !full() && ops.ids >= 0) op_at(ops.ids).after_previous = {last};
  }
  for (const GroupOps& ops : ops_)
    for (const int lookup : ops.lookups) {
      std::vector<int>& before = op_at(lookup).after_previous;
      before.insert(before.end(), averages_.begin(), averages_.end());
    }
  if (hybrid() && pipelined() && indices_in_line()) index_behind_updates();
  workload_.hugectr_pipeline() ? connect_hugectr() : connect_pipeline();
  connect_stores();
  if (workload_.semi_sync()) connect_outputs();
  if (copy_ >= 0 && !pipelined() && !workload_.base_pipeline()) op_at(copy_).after_previous = {last};
}

// Returns the operations on the input of this batch that run in the iteration before.
std::vector<int> Lowering::came_before(const GroupOps& ops) const {
  std::vector<int> ids = {ops.ids};
  const bool indexed = hybrid() && !indices_in_line();
  // With a prefetch behind the exchange of ids, a batch has been in the iteration before last.
  if (workload_.staged() && workload_.fetches_ahead()) ids = {wait_};
  if (workload_.hugectr_pipeline() || indexed || (full() && workload_.fetches_ahead())) ids.push_back(ready());
  std::erase(ids, -1);
  return ids;
}

bool Lowering::exchanges() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const FusionGroup& group) { return takes_turn(group) && group.exchanges(); });
}

OwnAmount Lowering::tier_bytes() const {
  OwnAmount bytes;
  if (hybrid()) return hybrid_bytes();
  for (const FusionGroup& group : groups_) {
    bytes += 2 * group.own_tier_bytes;
    if (!full()) bytes += 2 * group.own_bytes;
  }
  return bytes;
}

Op& Lowering::add_row_work(const char* what, OpRole role, const FusionGroup& group, const LookupPart& part,
                           const std::vector<int>& after, Stream stream) {
  const std::string name = what + std::string(group.sharded ? strategy_name(group.strategy) : "unsharded");
  Op& op = op_at(add(name, group.as(role), stream, after));
  op.shards = part.shards;
  op.ranks = part.ranks;
  return op;
}

int Lowering::add_vector_pass(const std::string& name, OpRole role, const FusionGroup& group,
                              std::vector<double> vectors, std::vector<int> after, Stream stream) {
  for (double& bytes : vectors) bytes *= 2;
  return add_pass(name, group.as(role), stream, std::move(vectors), std::move(after));
}

namespace {

// An iteration stands for all that the optimizer takes together.
void check_accumulated(const Workload& workload, const LoweringOptions& options) {
  if (workload.accumulate == 1 || options.load.batches != LoadOptions::Batches::drawn) return;
  throw input_error(Place{}, "accumulated gradients are simulated with expected batches, and the case's are drawn",
                    "Set load: {batches: expected}, or leave 'accumulate' out");
}

// Lengths that are drawn are those of the whole batch.
void check_batches(const Workload& workload, const LoweringOptions& options) {
  if (options.load.batches != LoadOptions::Batches::drawn) return;
  const auto found = std::ranges::find_if(
      workload.tables, [&](const Table& table) { return varies_batch(table, workload.batch_per_gpu); });
  if (found == workload.tables.end()) return;
  throw input_error(
      found->place,
      fmt::format("features of table '{}' have a batch of their own, and the case's batches are drawn", found->name),
      "Set load: {batches: expected}, or leave 'batch' out");
}

// Rows of CPU ranks lie with the host already.
void check_stash_leaves(const Workload& workload, const Cluster& cluster) {
  if (!workload.stash || cluster.spec().device != "cpu") return;
  throw input_error(workload.stash->place,
                    "rows are stashed in the memory of the host, and the ranks of the cluster are CPUs, whose rows lie "
                    "there already",
                    "Leave 'stash' out, or choose a cluster of GPUs");
}

// Batches and placements that are not simulated in sharding groups.
void check_grouped(const Plan& plan, const Workload& workload, const LoweringOptions& options) {
  const Place& place = workload.sharding_groups->place;
  if (options.drawn != nullptr || options.load.batches == LoadOptions::Batches::drawn)
    throw input_error(place, "sharding groups are simulated with expected batches, and the case's are drawn",
                      "Set load: {batches: expected}, or leave 'sharding_groups' out");
  for (const Placement& placement : plan.placements)
    if (const std::optional<Error> refused = refused_in_groups(placement, workload)) throw *refused;
}

}  // namespace

Program lower(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options) {
  if (workload.wire_codec.kernels && options.load.batches == LoadOptions::Batches::drawn)
    throw input_error(Place{}, "the kernels of codecs are simulated with expected batches, and the case's are drawn",
                      "Set load: {batches: expected}, or leave wire_dtype.kernels out");
  check_accumulated(workload, options);
  check_batches(workload, options);
  check_stash_leaves(workload, cluster);
  const std::optional<GroupedWorld> world = GroupedWorld::of(workload, cluster);
  if (!world) return Lowering(plan, workload, cluster, options, 1).take(cluster);
  check_grouped(plan, workload, options);
  if (!world->has(plan)) check_plan(plan, workload, cluster, workload.sharding_groups->place);
  Lowering of_group(world->of_group(plan), workload, world->cluster(), options, world->groups());
  return in_all_groups(of_group.take(cluster), *world, cluster.ranks_per_node());
}

}  // namespace shardsim
