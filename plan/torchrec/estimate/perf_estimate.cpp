#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/torchrec/estimate/shard_estimate.h"
#include "plan/torchrec/spec/names.h"
#include "plan/torchrec/spec/topology.h"

// Every product is written in TorchRec's order: its doubles are reproduced to the last bit.
namespace shardsim::torchrec {
namespace {

constexpr double kBatchedCopyFactor = 2.455;
constexpr double kElementwiseFactor = 9.22;  // optimizer kernels of data_parallel
constexpr double kWeightedKernelFactor = 1.1;
constexpr double kFullBlock = 128, kHalfBlock = 64, kLeastBlock = 32;  // columns that a warp works on
constexpr double kHalfBlockPenalty = 1.15, kQuarterBlockPenalty = 1.75;

// The terms of the estimate that all sharding types share.
struct Terms {
  const TableSpec& table;
  const Topology& topology;
  const EstimateSettings& settings;
  double inputs, outputs;  // per rank's batch
  double world, local;     // ranks
  double cols;
  double element;
  double kernel_bandwidth;
  double fetches;  // cache lines that miss, per global batch
  WireBytes all_to_all, reduce_scatter;
};

WireBytes wire_or(const std::optional<WireBytes>& given, double element) {
  return given.value_or(WireBytes{element, element});
}

double fetches_of(const TableSpec& table, ComputeKernel kernel) {
  const auto ratio = table.load_factor();
  if (!ratio || !table.cache_statistics || kernel != ComputeKernel::fused_uvm_caching) return 0;
  return table.cache_statistics->miss_rate(*ratio) * table.cache_statistics->expected_lookups;
}

double bandwidth_of(const TableSpec& table, ComputeKernel kernel, const Topology& topology) {
  if (const auto rate = kernel_bandwidth(topology, kernel, table.load_factor(), table.prefetch_pipeline)) return *rate;
  throw PlannerError(PlannerFailure::other, fmt::format("table '{}': kernel {} has no bandwidth on {}", table.name,
                                                        name_of(kernel), name_of(topology.device)));
}

double read_bytes(const Terms& terms) {
  const double bytes = std::ceil(terms.inputs * terms.world * kIdBytes);
  return terms.table.weighted ? bytes * 2 : bytes;
}

double backward_compute(const Terms& terms, double forward) {
  double backward = forward * terms.topology.bwd_compute_multiplier;
  if (!terms.table.weighted) return backward;
  backward = backward * terms.topology.weighted_bwd_compute_multiplier;
  return backward + kWeightedKernelFactor * forward;
}

double prefetch(const Terms& terms, double fetches) {
  return fetches * terms.cols * terms.element / terms.topology.hbm_to_ddr_bandwidth;
}

double block_penalty(double cols) {
  if (cols >= kFullBlock) return 1;
  return cols >= kHalfBlock ? kHalfBlockPenalty : kQuarterBlockPenalty;
}

double world_bandwidth(const Terms& terms, CollectiveKind kind) {
  return collective_bandwidth(terms.topology, terms.topology.local_world_size, terms.topology.world_size, kind);
}

// table_wise, column_wise, table_column_wise.
Perf whole_rows(const Terms& terms) {
  const double lookup = terms.inputs * terms.world * std::max(terms.cols, kLeastBlock) * terms.element;
  const double forward = terms.outputs * terms.world * terms.cols * terms.all_to_all.forward;
  const double backward = terms.outputs * terms.world * terms.cols * terms.all_to_all.backward;
  const double rate = world_bandwidth(terms, CollectiveKind::all_to_all);
  Perf perf;
  perf.fwd_comms = forward / rate;
  perf.fwd_compute = (read_bytes(terms) + lookup + forward) * block_penalty(terms.cols) / terms.kernel_bandwidth;
  if (terms.settings.inference) return perf;
  perf.bwd_comms = backward / rate;
  perf.bwd_compute = backward_compute(terms, perf.fwd_compute);
  perf.prefetch_compute = prefetch(terms, terms.fetches);
  return perf;
}

Perf row_wise(const Terms& terms) {
  const WireBytes& wire = terms.table.pooled ? terms.reduce_scatter : terms.all_to_all;
  const double lookup = terms.inputs * terms.world * terms.cols * terms.element;
  const double forward = terms.outputs * terms.world * terms.cols * wire.forward;
  const double backward = terms.outputs * terms.world * terms.cols * wire.backward;
  Perf perf;
  perf.fwd_comms = forward / world_bandwidth(terms, CollectiveKind::reduce_scatter);
  perf.fwd_compute = (read_bytes(terms) + lookup + forward) / terms.kernel_bandwidth;
  perf.prefetch_compute = prefetch(terms, terms.fetches / terms.world);
  if (terms.settings.inference) return perf;
  perf.bwd_comms = backward / world_bandwidth(terms, CollectiveKind::all_gather) +
                   backward * kBatchedCopyFactor / terms.kernel_bandwidth;
  perf.bwd_compute = backward_compute(terms, perf.fwd_compute);
  return perf;
}

// table_row_wise and grid_shard: inside the host first, then one partner on every host.
Perf two_levels(const Terms& terms) {
  const Topology& topology = terms.topology;
  const int local = topology.local_world_size;
  const double lookup = terms.inputs * terms.world * terms.cols * terms.element;
  const double forward = terms.outputs * terms.world * terms.cols * terms.reduce_scatter.forward;
  const double backward = terms.outputs * terms.world * terms.cols * terms.reduce_scatter.backward;
  Perf perf;
  perf.fwd_comms = forward / collective_bandwidth(topology, local, local, CollectiveKind::reduce_scatter);
  perf.bwd_comms = backward / collective_bandwidth(topology, local, local, CollectiveKind::all_gather);
  if (topology.world_size > local) {
    const double hosts = terms.world / terms.local;
    const double rate = collective_bandwidth(topology, 1, static_cast<int>(hosts), CollectiveKind::all_to_all);
    perf.fwd_comms += terms.outputs * hosts * terms.cols * terms.all_to_all.forward / rate;
    perf.bwd_comms += terms.outputs * hosts * terms.cols * terms.all_to_all.backward / rate;
  }
  perf.fwd_compute = (read_bytes(terms) + lookup + forward) / terms.kernel_bandwidth;
  perf.bwd_comms += backward * kBatchedCopyFactor / terms.kernel_bandwidth;
  perf.bwd_compute = backward_compute(terms, perf.fwd_compute);
  perf.prefetch_compute = prefetch(terms, terms.fetches / terms.local);
  return perf;
}

// rows * cols * element as TorchRec has it: a whole number before it becomes a double.
double table_bytes(const Terms& terms, std::int64_t rows) {
  const auto elements = static_cast<Wide>(rows) * static_cast<Wide>(terms.table.dim);
  const Wide bytes = elements * static_cast<unsigned>(terms.element * 8) / 8;
  return static_cast<double>(bytes);
}

// One rank's own batch; the gradient of the whole table is reduced over all ranks.
Perf data_parallel(const Terms& terms, std::int64_t rows) {
  const double bytes = std::ceil(terms.inputs * kIdBytes);
  const double read = terms.table.weighted ? bytes * 2 : bytes;
  const double lookup = terms.inputs * terms.cols * terms.element;
  const double output = terms.outputs * terms.cols * terms.element;
  const double size = table_bytes(terms, rows);
  const double nodes = std::min(terms.world / terms.local, 2.0);
  const double rate = world_bandwidth(terms, CollectiveKind::all_reduce);
  double all_reduce = size * (2 * nodes - 1) / nodes / rate;
  if (terms.world > 2 * terms.local) all_reduce *= 2;
  Perf perf;
  perf.fwd_compute = (read + lookup + output) / terms.kernel_bandwidth;
  perf.bwd_compute = backward_compute(terms, perf.fwd_compute);
  perf.bwd_comms = all_reduce + size * kElementwiseFactor / terms.kernel_bandwidth;
  return perf;
}

}  // namespace

Perf shard_perf(const TableSpec& table, const BatchLoad& load, ShardingType type, ComputeKernel kernel,
                const Topology& topology, const EstimateSettings& settings, std::int64_t rows, std::int64_t cols) {
  const double inputs = inputs_per_shard(load, type, topology);
  const double element = table.element_bytes;
  const Terms terms{table,
                    topology,
                    settings,
                    inputs,
                    table.pooled ? load.bags : inputs,
                    static_cast<double>(topology.world_size),
                    static_cast<double>(topology.local_world_size),
                    static_cast<double>(cols),
                    element,
                    bandwidth_of(table, kernel, topology),
                    fetches_of(table, kernel),
                    wire_or(table.pooled ? table.all_to_all : table.sequence_all_to_all, element),
                    wire_or(table.pooled ? table.reduce_scatter : std::nullopt, element)};
  switch (type) {
    case ShardingType::data_parallel:
      return data_parallel(terms, rows);
    case ShardingType::row_wise:
      return row_wise(terms);
    case ShardingType::table_row_wise:
    case ShardingType::grid_shard:
      return two_levels(terms);
    default:
      return whole_rows(terms);
  }
}

}  // namespace shardsim::torchrec
