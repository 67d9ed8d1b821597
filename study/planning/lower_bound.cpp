#include "study/planning/lower_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include "models/compute/compute_model.h"
#include "sim/engine/op_work.h"
#include "sim/lower/lower.h"
#include "study/planning/placement_outline.h"

namespace shardsim {
namespace {

constexpr double kRoundedItems = 1.5;  // items that rounding may take from a table in three tiers
constexpr double kCertain = 1 - 1e-3;  // expected different rows are known to 1e-3

// The times that every plan has: the dense part and the copy of the batch, of a rank at full speed. Seconds.
struct GivenTimes {
  double top = 0, bottom = 0, optimizer = 0, copy = 0;
  double last_bucket = 0, buckets = 0;  // all-reduces of the dense part
  double rows = 0;                      // lookups and updates of a measured rest
};

// The least work of the embeddings, over all ranks.
struct LeastWork {
  double lookup = 0, update = 0;  // seconds at full speed
  double starts = 0;              // of kernels, on each rank
  double exchanged = 0;           // bytes that come to nodes, or to GPUs of a single node, from others
};

Plan replicated_plan(const Workload& workload, const Cluster& cluster) {
  Plan plan;
  for (std::size_t table = 0; table < workload.tables.size(); ++table) {
    plan.placements.push_back(whole_table(static_cast<int>(table), workload.tables[table], Strategy::data_parallel,
                                          {all_ranks(cluster.world_size())}));
  }
  return plan;
}

// With all tables replicated, without the reductions of their rows, which may be absurdly long, and without the host.
// Parts that are reduced in one call are so here, too, and the dense part runs the kernels of the case's software.
Program dense_program(const Case& item, const Cluster& cluster) {
  Workload workload = item.workload;
  workload.dense.all_reduce.one_call = false;
  const LoweringOptions options = priced_options(item.overlap, item.software ? &*item.software : nullptr);
  Program program = lower(replicated_plan(workload, cluster), workload, cluster, options);
  std::int64_t bytes = 0;
  Op* last = nullptr;
  for (Op& op : program.ops) {
    if (op.role != OpRole::dense_all_reduce) continue;
    last = &op;
    bytes += op.bytes;
    if (item.workload.dense.all_reduce.one_call) op.bytes = 0;
  }
  if (last != nullptr && item.workload.dense.all_reduce.one_call) last->bytes = bytes;
  return program;
}

GivenTimes given_times(const Case& item, const Cluster& cluster, const ComputeModel& compute) {
  Program program = dense_program(item, cluster);
  std::erase_if(program.ops, [](const Op& op) {
    return op.role == OpRole::reduce_gradient || (op.role == OpRole::dense_all_reduce && op.bytes == 0);
  });
  const std::vector<OpWork> works = expand_ops(program, cluster, compute, item.algorithms);
  const bool measured_rows = holds_embeddings(item.workload.dense) && item.workload.embedding_kernels == "fused";
  GivenTimes given;
  bool below = false;  // what runs beside the exchange of gradients
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.role == OpRole::dense_all_reduce) {
      given.last_bucket = works[i].alone.value;
      given.buckets += works[i].alone.value;
      continue;
    }
    if (works[i].is_collective()) continue;
    double seconds = 0;  // at full speed: what the slowest ranks take is said by their factor
    for (int rank = 0; rank < cluster.world_size(); ++rank) {
      seconds = std::max(seconds, works[i].seconds[static_cast<std::size_t>(rank)] * cluster.compute_factor(rank));
    }
    below = below || op.role == OpRole::bottom_backward;
    const bool top = op.role == OpRole::dense_forward || op.role == OpRole::dense_backward;
    const bool bottom = op.role == OpRole::bottom_forward || op.role == OpRole::bottom_backward;
    if (top || bottom) (top && !below ? given.top : given.bottom) += seconds;
    if (op.role == OpRole::copy_inputs) given.copy += seconds;
    const bool rows = op.op_class == OpClass::lookup || op.op_class == OpClass::update;
    if (measured_rows && rows) {
      given.rows += seconds;
    } else if (op.role == OpRole::dense_update && !item.workload.dense.measured) {
      given.optimizer += seconds;
    }
  }
  return given;
}

// Kinds of tables, of which each has kernels of its own.
double kinds_of_tables(const Workload& workload) {
  std::set<std::tuple<TableKind, std::string, bool>> kinds;
  for (const Table& table : workload.tables) {
    kinds.emplace(table.kind, table.pooling, std::ranges::any_of(table.features, &Feature::weighted));
  }
  return static_cast<double>(kinds.size());
}

class TableBound {
 public:
  TableBound(const Table& table, const Workload& workload, const Cluster& cluster)
      : table_(table), workload_(workload), cluster_(cluster), access_(table.distribution()) {
    items_ = std::max(0.0, (table.index_dedup ? different_ids(0) : batch() * access_.total()) - kRoundedItems);
    double bags = 0;
    for (const Feature& feature : table.features) bags += feature.num_poolings;
    if (table.kind == TableKind::sequence) {
      vectors_ = items_;
    } else if (items_ > 0) {
      vectors_ = std::max(0.0, batch() * bags - 0.5);
    }
  }

  double world() const { return cluster_.world_size(); }
  double read_bytes() const { return world() * (items_ + vectors_) * row(); }
  double lookups() const { return world() * items_; }

  // Seconds of all updates: sorting, gradients read, and each different row by the cheaper kernel. Rows that are not
  // met need no fused update, and the dense one does them all, so that its cost per row met is at least that per row.
  double update(const GpuSpec& gpu) const {
    const double rate = gpu.copy_bandwidth.bytes_per_second,
                 sorted = rate * std::min(1.0, gpu.sorted_update_efficiency);
    const double lookups = world() * items_;
    const double draws = table_.index_dedup ? world() * batch() * access_.total() : lookups;
    const double different = lookups > 0 ? access_.expected_distinct(0, table_.rows, draws) : 0;
    const auto state = static_cast<double>(optimizer_row_bytes(workload_.optimizer, table_.dim));
    const double fused = (2 * row() + 2 * state) / sorted;
    const double dense = row() / sorted + (3 * row() + 2 * state) / rate;
    return lookups * gpu.sort_per_lookup.value + lookups * row() / sorted + different * std::min(fused, dense);
  }

  // Bytes that come to nodes from others, forward and backward: `away` ranks are on other nodes than an owner, and
  // replicated rows are reduced on `copies` nodes more than one.
  double exchanged(double away, double copies) const {
    const auto dim = static_cast<double>(table_.dim);
    const double wires =
        least_wire_bytes(forward_wire(workload_, table_)) + least_wire_bytes(backward_wire(workload_, table_));
    const double of_vector = away * dim * wires, of_row = copies * dim * dtype_bytes(reduced_dtype());
    if (table_.kind == TableKind::pooled) return std::min(vectors_ * of_vector, rows() * of_row);
    const std::uint64_t hot = access_.count_at_least(cheaper_replicated(of_row / of_vector) / batch());
    const double first = static_cast<double>(hot);
    const double sent =
        (table_.index_dedup ? different_ids(hot) : batch() * access_.sum(hot, table_.rows)) - kRoundedItems;
    return first * of_row + std::max(0.0, sent) * of_vector;
  }

 private:
  double batch() const { return batch_of(table_, workload_.batch_per_gpu); }
  // Returns the different ids of one rank's batch, in the rows behind the first ones.
  double different_ids(std::uint64_t first) const {
    const double draws = batch() * access_.sum(first, table_.rows);
    return draws > 0 ? access_.expected_distinct(first, table_.rows, draws) : 0;
  }
  // Lookups of a row in one rank's batch from which on it is cheaper to replicate it: as many as `vectors`, or where
  // the row is asked for once at most, so many that it is in as large a part of the batches.
  double cheaper_replicated(double vectors) const {
    if (!table_.index_dedup) return vectors;
    return vectors < 1 ? -std::log1p(-vectors) : std::numeric_limits<double>::infinity();
  }
  double row() const { return static_cast<double>(table_.row_bytes()); }
  double rows() const { return static_cast<double>(table_.rows); }
  Dtype reduced_dtype() const {
    const DenseAllReduce& all_reduce = workload_.dense.all_reduce;
    return all_reduce.one_call ? all_reduce.dtype : gradient_dtype(table_);
  }

  const Table& table_;
  const Workload& workload_;
  const Cluster& cluster_;
  AccessDistribution access_;
  double items_ = 0, vectors_ = 0;  // of one rank's batch
};

LeastWork least_work(const Workload& workload, const Cluster& cluster, bool roofline) {
  const GpuSpec& gpu = cluster.spec().gpu;
  const int world = cluster.world_size(), nodes = cluster.nodes();
  const double away = nodes > 1 ? world - cluster.ranks_per_node() : world - 1;
  const double copies = nodes > 1 ? nodes - 1 : world - 1;
  LeastWork work;
  double bytes = 0, lookups = 0;
  for (const Table& table : workload.tables) {
    const TableBound bound(table, workload, cluster);
    if (world > 1) work.exchanged += bound.exchanged(away, copies);
    if (!roofline) continue;
    bytes += bound.read_bytes();
    lookups += bound.lookups();
    work.update += bound.update(gpu);
  }
  work.lookup = std::max(bytes / gpu.copy_bandwidth.bytes_per_second, lookups / (gpu.lookups_per_ns * 1e9));
  if (roofline && workload.embedding_kernels == "fused") {
    work.starts = kinds_of_tables(workload) * gpu.kernel_overhead.value;
  }
  return work;
}

// Bytes per second into all nodes, or into all GPUs of a single node; 0 where no port belongs to one GPU alone.
double rate_inwards(const Cluster& cluster) {
  const bool several = cluster.nodes() > 1;
  if (several && cluster.nics_per_node() != cluster.ranks_per_node()) return 0;
  double rate = 0;
  for (const Link& link : cluster.links()) {
    if (link.kind == (several ? LinkKind::nic_in : LinkKind::nvlink_in)) rate += link.rate.bytes_per_second;
  }
  return rate;
}

// True when the embeddings' kernels take times that are sums of rates, which TableBound knows, one after the other.
bool counts_kernels(const Case& item) {
  return !holds_embeddings(item.workload.dense) && !item.workload.hugectr_rows() && is_roofline(item.compute_model);
}

}  // namespace

std::string lower_bound_lacks(const Case& item) {
  const bool measured = holds_embeddings(item.workload.dense);
  if (counts_kernels(item) || (measured && item.workload.embedding_kernels == "fused")) return "";
  if (item.workload.hugectr_rows()) return "lookups and updates, which HugeCTR's kernels do beside the dense part";
  return "lookups and updates, which " +
         (measured ? "the workload's measured rest has for no single kernel"
                   : "the compute model " + compute_model_name(item.compute_model) + " tells size by size");
}

Seconds lower_bound(const Case& item, const Cluster& cluster) {
  const Workload& workload = item.workload;
  const auto compute = make_compute_model(item.compute_model);
  const GivenTimes given = given_times(item, cluster, *compute);
  const LeastWork work = least_work(workload, cluster, counts_kernels(item));
  double speed = 0;  // of all ranks
  for (int rank = 0; rank < cluster.world_size(); ++rank) speed += cluster.compute_factor(rank);
  const double world = cluster.world_size();
  const auto mean = [&](double on_each, double over_all) { return (world * on_each + over_all) / speed; };

  const double copy = workload.pipeline == "none" ? given.copy : 0;  // else on a stream of its own
  const double dense = given.top + given.bottom;
  const double computing =
      mean(copy + dense + given.optimizer + given.rows + 2 * work.starts, work.lookup + work.update);
  const double reducing = mean(dense + work.starts, work.lookup) + given.last_bucket + given.optimizer;
  const double rate = rate_inwards(cluster);
  const double exchanging = rate > 0 ? given.top + work.exchanged / rate : 0;
  return {kCertain * std::max({computing, reducing, given.buckets, given.copy, exchanging})};
}

}  // namespace shardsim
