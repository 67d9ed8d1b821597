#include "sim/engine/op_work.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "program/program.h"
#include "program/timeline/traffic.h"
#include "sim/engine/row_facts.h"
#include "sim/engine/store_time.h"

namespace shardsim {
namespace {

// The optimizer of the dense part streams over its parameters, where its kernels are known.
ComputeWork::Kind work_kind(const Op& op) {
  if (op.sort_bits > 0) return ComputeWork::Kind::sort;
  // The gradient of weights reads rows as a lookup does, and gradients of vectors where that writes vectors.
  if (op.op_class == OpClass::lookup || op.role == OpRole::weight_gradient) return ComputeWork::Kind::lookup;
  const bool streams = op.role == OpRole::dense_update && op.kernels > 0;
  return op.op_class == OpClass::update && !streams ? ComputeWork::Kind::update : ComputeWork::Kind::dense;
}

void take_products(const Op& op, std::size_t position, std::vector<ProductRun>& runs) {
  runs.clear();
  for (const OpProduct& each : op.products)
    runs.push_back(
        {{each.m.at(position), each.n.at(position), each.k.at(position)}, static_cast<double>(each.count), each.share});
}

// Makes what the work of an operation is on all of its ranks.
ComputeWork work_on_all(const Op& op) {
  ComputeWork work;
  work.kind = work_kind(op);
  work.precision = op.precision.empty() ? "fp32" : op.precision;
  work.kernels = op.kernels;
  work.by_kernel = op.by_kernel;
  work.optimizer = op.optimizer;
  work.indexed = op.indexed;
  if (op.sort_bits > 0) work.sort.key_bits = op.sort_bits;
  if (op.role == OpRole::deduplicate_ids) work.sort.key_bytes = work.sort.value_bytes = kUniqueIdBytes;
  work.fixed = {static_cast<double>(op.fixed_ns) * 1e-9};
  return work;
}

// Puts in what the work on one rank is. A large world has an operation on 100,000 of them: texts and lists stay where
// they are from one rank to the next.
void place_on_rank(ComputeWork& work, const Op& op, std::size_t position, const ClusterSpec& spec) {
  work.hbm_bytes = op.hbm_bytes.at(position);
  work.host_link = host_link_time(op, position, spec);
  work.flops = op.flops.at(position);
  take_products(op, position, work.products);
  work.lookups = op.lookups.at(position);
  work.sorted_update = work.kind == ComputeWork::Kind::update && work.lookups > 0 && !op.in_place;
}

// Adds the work of the host's threads for the ranks of a node; each rank starts that work by itself.
void add_stored_rows(OpWork& work, const Op& op, const Program& program, const Cluster& cluster) {
  if (!moves_stored_rows(op.role)) return;
  const std::vector<int> ranks = program.ranks_of(op);
  const std::vector<double> seconds = shared_stored_rows_seconds(op, program, cluster.spec());
  for (std::size_t position = 0; position < ranks.size(); ++position) {
    double& of_rank = work.seconds[ranks[position]];
    of_rank += seconds[position];
    work.alone = std::max(work.alone, Seconds{of_rank});
  }
}

OpWork compute_work(const Op& op, const Program& program, const RowFacts& facts, const Cluster& cluster,
                    const ComputeModel::OnGpu& seconds_of) {
  OpWork work;
  work.seconds.assign(program.world_size, -1.0);
  const std::vector<int> ranks = program.ranks_of(op);
  const RowFacts::OfOp rows = facts.of(op);
  ComputeWork asked = work_on_all(op);
  for (std::size_t position = 0; position < ranks.size(); ++position) {
    const int rank = ranks[position];
    place_on_rank(asked, op, position, cluster.spec());
    asked.rows = rows.at(position);
    asked.tables = rows.tables_at(position);
    const Seconds nominal = seconds_of(asked);
    work.seconds[rank] = op.op_class == OpClass::host ? nominal.value : nominal.value / cluster.compute_factor(rank);
    if (op.every > 1) work.seconds[rank] /= op.every;  // each iteration is charged with its part
    work.alone = std::max(work.alone, Seconds{work.seconds[rank]});
  }
  add_stored_rows(work, op, program, cluster);
  return work;
}

// Duration of all groups of a collective when nothing else runs: groups that share a link (two GPUs behind one NIC)
// take its time together.
Seconds alone_of(const std::vector<OpWork::Call>& calls, const Cluster& cluster) {
  std::vector<const CollectiveLoads*> loads;
  for (const OpWork::Call& call : calls) loads.push_back(&call.loads);
  return side_by_side(loads, cluster).time;
}

// A collective that runs in one of so many iterations charges each with its part of the start and of the bytes.
void charge_part(OpWork::Call& call, int every) {
  if (every == 1) return;
  call.loads.start = {call.loads.start.value / every};
  for (LinkLoad& load : call.loads.loads) load.occupancy /= every;
  for (std::int64_t& bytes : call.payload) bytes /= every;
}

OpWork collective_work(const Op& op, const Program& program, const Cluster& cluster, const std::string& algorithm) {
  OpWork work;
  const ByteMatrix none;
  std::optional<ResolvedMatrix> moved;  // by all sets alike, or by the one that is looked at
  LikeSets sets(cluster, algorithm);
  for (const std::vector<int>& ranks : program.groups.at(op.group)) {
    const std::size_t set = work.calls.size();
    const std::int64_t of_set = op.bytes_of_set(set);
    if (!op.matrix.empty() && (set == 0 || op.matrix.per_set)) moved.emplace(program, op.matrix, set);
    const ByteMatrix& matrix = moved ? **moved : none;
    const CollectiveCall call{*collective_kind(op.op_class), ranks, &matrix, of_set};
    OpWork::Call expanded{
        ranks, op.matrix.per_set ? expand_collective(call, cluster, algorithm) : sets.expand(call), {}};
    expanded.loads.start = {std::max(expanded.loads.start.value - static_cast<double>(op.launch_ns) * 1e-9, 0.0)};
    expanded.payload = payloads(op, matrix, of_set, static_cast<int>(ranks.size()));
    charge_part(expanded, op.every);
    work.calls.push_back(std::move(expanded));
  }
  work.alone = alone_of(work.calls, cluster);
  return work;
}

// True when two collectives load the same links with the same bytes, as those of a model's like layers do.
bool same_calls(const Op& a, const Op& b) {
  return a.op_class == b.op_class && a.group == b.group && a.matrix == b.matrix && a.bytes == b.bytes &&
         a.bytes_by_set == b.bytes_by_set && a.launch_ns == b.launch_ns && a.every == b.every;
}

bool in_one_node(const std::vector<int>& ranks, const Cluster& cluster) {
  return std::ranges::all_of(ranks, [&](int rank) { return cluster.node_of(rank) == cluster.node_of(ranks.front()); });
}

bool same_reduction(const Op& a, const Op& b) {
  return a.op_class == b.op_class && a.bytes == b.bytes && a.bytes_by_set == b.bytes_by_set &&
         a.launch_ns == b.launch_ns && a.every == b.every;
}

bool of_sets(const OpWork& work, const std::vector<std::vector<int>>& sets) {
  return std::ranges::equal(work.calls, sets, {}, &OpWork::Call::ranks);
}

}  // namespace

Seconds host_link_time(const Op& op, std::size_t position, const ClusterSpec& spec) {
  const double bytes = op.host_bytes.at(position);
  if (bytes <= 0) return {0};
  return {bytes / host_link_rate(spec).bytes_per_second};
}

ComputeWork work_of(const Op& op, std::size_t position, const ClusterSpec& spec) {
  ComputeWork work = work_on_all(op);
  place_on_rank(work, op, position, spec);
  return work;
}

std::vector<OpWork> expand_compute(const Program& program, const Cluster& cluster, const ComputeModel& compute) {
  std::vector<OpWork> works;
  const RowFacts facts(program);
  const ComputeModel::OnGpu seconds_of = compute.on(cluster.spec().gpu);
  for (const Op& op : program.ops) {
    works.push_back(op.is_collective() ? OpWork{} : compute_work(op, program, facts, cluster, seconds_of));
  }
  return works;
}

OpWork expand_collective_op(const Op& op, const Program& program, const Cluster& cluster,
                            const std::map<std::string, std::string>& algorithms) {
  const auto chosen = algorithms.find(std::string(op_class_name(op.op_class)));
  return collective_work(op, program, cluster, chosen == algorithms.end() ? "auto" : chosen->second);
}

std::vector<OpWork> expand_ops(const Program& program, const Cluster& cluster, const ComputeModel& compute,
                               const std::map<std::string, std::string>& algorithms) {
  KnownReductions none;
  return expand_ops(program, cluster, compute, algorithms, none);
}

std::vector<OpWork> expand_ops(const Program& program, const Cluster& cluster, const ComputeModel& compute,
                               const std::map<std::string, std::string>& algorithms, KnownReductions& known) {
  std::vector<OpWork> works = expand_compute(program, cluster, compute);
  std::vector<std::size_t> unlike;  // collectives
  for (std::size_t at = 0; at < works.size(); ++at) {
    const Op& op = program.ops[at];
    if (!op.is_collective()) continue;
    const auto like =
        std::ranges::find_if(unlike, [&](std::size_t other) { return same_calls(program.ops[other], op); });
    if (like != unlike.end()) {
      works[at] = works[*like];
    } else {
      std::optional<OpWork> work = known.take(op, program);
      works[at] = work ? std::move(*work) : expand_collective_op(op, program, cluster, algorithms);
      unlike.push_back(at);
    }
  }
  return works;
}

CollectiveLoads LikeSets::expand(const CollectiveCall& call) {
  if (like_the_last(call)) return moved_to(cluster_.node_of(call.ranks.front()));
  CollectiveLoads loads = expand_collective(call, cluster_, algorithm_);
  ranks_.clear();
  if (!in_one_node(call.ranks, cluster_)) return loads;
  ranks_ = call.ranks;
  bytes_ = call.bytes;
  loads_ = loads;
  return loads;
}

bool LikeSets::like_the_last(const CollectiveCall& call) const {
  if (ranks_.empty() || call.ranks.size() != ranks_.size() || call.bytes != bytes_) return false;
  const int apart = call.ranks.front() - ranks_.front();
  if (apart % cluster_.ranks_per_node() != 0) return false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (call.ranks[i] - ranks_[i] != apart) return false;
  }
  const int node = cluster_.node_of(call.ranks.front());
  return call.ranks.front() >= 0 && node < cluster_.nodes() && equal_rates(node);
}

bool LikeSets::equal_rates(int node) const {
  const int other = cluster_.node_of(ranks_.front());
  const LinkId end = cluster_.on_node(0, node + 1);
  for (LinkId link = cluster_.on_node(0, node), like = cluster_.on_node(0, other); link < end; ++link, ++like) {
    if (cluster_.links()[link].rate != cluster_.links()[like].rate) return false;
  }
  return true;
}

CollectiveLoads LikeSets::moved_to(int node) const {
  CollectiveLoads moved = loads_;
  const LinkId further = cluster_.on_node(0, node) - cluster_.on_node(0, cluster_.node_of(ranks_.front()));
  for (LinkLoad& load : moved.loads) load.link += further;
  return moved;
}

void KnownReductions::keep(const Program& program, std::vector<OpWork> works) {
  for (std::size_t at = 0; at < works.size(); ++at) {
    const Op& op = program.ops[at];
    if (!op.is_collective() || !op.matrix.empty()) continue;
    const auto alike = [&](const Known& each) { return each.op.group == op.group && same_reduction(each.op, op); };
    if (std::ranges::any_of(known_, alike)) continue;
    known_.push_back({op, std::move(works[at])});
  }
}

std::optional<OpWork> KnownReductions::take(const Op& op, const Program& program) {
  if (!op.matrix.empty()) return std::nullopt;
  const std::vector<std::vector<int>>& sets = program.groups.at(op.group);
  const auto found = std::ranges::find_if(
      known_, [&](const Known& each) { return same_reduction(each.op, op) && of_sets(each.work, sets); });
  if (found == known_.end()) return std::nullopt;
  std::optional<OpWork> work = std::move(found->work);
  known_.erase(found);
  return work;
}

}  // namespace shardsim
