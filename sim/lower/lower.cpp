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

std::size_t transforms_of(const Workload& workload) {
  return static_cast<std::size_t>(std::ranges::count(workload.stages, "transform", &PipelineStage::does));
}

bool has_store(const FusionGroup& group) {
  return std::ranges::any_of(group.parts, [](const LookupPart& part) { return part.store != RowStore::none; });
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
  streams_ = streams_of(workload, groups > 1, std::ranges::any_of(groups_, has_store));
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

namespace {

// An iteration stands for all that the optimizer takes together.
void check_accumulated(const Workload& workload, const LoweringOptions& options) {
  if (workload.accumulate == 1 || !options.load.drawn()) return;
  throw input_error(Place{}, "accumulated gradients are simulated with expected batches, and the case's are drawn",
                    "Set load: {batches: expected}, or leave 'accumulate' out");
}

// Lengths that are drawn are those of the whole batch.
void check_batches(const Workload& workload, const LoweringOptions& options) {
  if (!options.load.drawn()) return;
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
  if (options.drawn != nullptr || options.load.drawn())
    throw input_error(place, "sharding groups are simulated with expected batches, and the case's are drawn",
                      "Set load: {batches: expected}, or leave 'sharding_groups' out");
  for (const Placement& placement : plan.placements)
    if (const std::optional<Error> refused = refused_in_groups(placement, workload)) throw *refused;
}

}  // namespace

Program lower(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options) {
  if (workload.wire_codec.kernels && options.load.drawn())
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
