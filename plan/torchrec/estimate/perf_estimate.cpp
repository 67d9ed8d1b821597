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
constexpr double kElementwiseFactor = 9.22;                            // optimizer kernels of data_parallel
constexpr double kFullBlock = 128, kHalfBlock = 64, kLeastBlock = 32;  // columns that a warp works on
constexpr double kHalfBlockPenalty = 1.15, kQuarterBlockPenalty = 1.75;

// The terms of the estimate that all sharding types share.
struct Terms {
  const TableSpec& table;
  const Topology& topology;
  const EstimateSettings& settings;
  double ids;              // of one rank's batch
  double inputs, outputs;  // of the batch, as one of the type's row shards sees it
  double world, local;     // ranks
  double rows, cols;       // of the shard
  double element;
  double kernel_bandwidth;
  ComputeKernel kernel;
  WireBytes all_to_all, reduce_scatter;

  bool newest() const { return settings.version == PlannerVersion::v2026_08; }
  // 2025-10 drops the backward pass of inference here; it forgets to do so for some types. 2026-08 drops it for all.
  bool ends_here() const { return settings.inference && !newest(); }
};

WireBytes wire_or(const std::optional<WireBytes>& given, double element) {
  return given.value_or(WireBytes{element, element});
}

// A kernel that a prefetch pipeline turns into another is looked up as that one.
std::optional<double> configured_bandwidth(const TableSpec& table, ComputeKernel kernel, const Topology& topology,
                                           const HardwareConfig& hardware) {
  const bool prefetched = table.prefetch_pipeline && topology.device == Device::cuda;
  if (prefetched && kernel == ComputeKernel::fused_uvm_caching) kernel = ComputeKernel::fused;
  const auto found = hardware.kernel_bandwidths.find(kernel);
  return found == hardware.kernel_bandwidths.end() ? hardware.device_bandwidth : std::optional(found->second);
}

double bandwidth_of(const TableSpec& table, ComputeKernel kernel, const Topology& topology,
                    const HardwareConfig& hardware) {
  if (const auto rate = configured_bandwidth(table, kernel, topology, hardware)) return *rate;
  if (const auto rate = kernel_bandwidth(topology, kernel, table.load_factor(), table.prefetch_pipeline)) return *rate;
  throw PlannerError(PlannerFailure::value_error, fmt::format("table '{}': kernel {} has no bandwidth on {}",
                                                              table.name, name_of(kernel), name_of(topology.device)));
}

double block_penalty(double cols) {
  if (cols >= kFullBlock) return 1;
  return cols >= kHalfBlock ? kHalfBlockPenalty : kQuarterBlockPenalty;
}

double read_bytes(const Terms& terms, double ids) {
  const HardwareConfig& hardware = terms.settings.hardware;
  const double bytes = std::ceil(hardware.counts_id_bytes ? ids * hardware.id_bytes : ids);
  return terms.table.weighted ? bytes * 2 : bytes;
}

double weighed(const Terms& terms, const PassCoefficients& by, double ids, double lookup, double output) {
  return by.input_read * read_bytes(terms, ids) + by.lookup * lookup + by.output * output + by.rows * terms.rows;
}

bool keeps_rows_whole(ShardingType type) {
  return !in_rows(type) && type != ShardingType::data_parallel;
}

// `ids`: those that the shard looks up; `output`: bytes of the vectors that it writes.
double forward_compute(const Terms& terms, ShardingType type, double ids, double output) {
  const HardwareConfig& hardware = terms.settings.hardware;
  const bool floor = hardware.floor_of_columns.value_or(keeps_rows_whole(type));
  const double lookup = ids * (floor ? std::max(terms.cols, kLeastBlock) : terms.cols) * terms.element;
  const double penalty = hardware.block_penalty.value_or(keeps_rows_whole(type)) ? block_penalty(terms.cols) : 1;
  const PassCoefficients& by = hardware.coefficients_of(type, terms.kernel).forward;
  return weighed(terms, by, ids, lookup, output) * penalty / terms.kernel_bandwidth;
}

// `output`: bytes of the gradients that it reads.
double backward_compute(const Terms& terms, ShardingType type, double ids, double output, double forward) {
  const HardwareConfig& hardware = terms.settings.hardware;
  double backward = forward * hardware.bwd_compute_multiplier.value_or(terms.topology.bwd_compute_multiplier);
  if (const auto& by = hardware.coefficients_of(type, terms.kernel).backward) {
    const double lookup = ids * terms.cols * terms.element;
    backward = weighed(terms, *by, ids, lookup, output) / terms.kernel_bandwidth;
  }
  if (!terms.table.weighted) return backward;
  backward =
      backward * hardware.weighted_bwd_compute_multiplier.value_or(terms.topology.weighted_bwd_compute_multiplier);
  return backward + hardware.weighted_kernel_multiplier * forward;
}

// The ids that a prefetch looks up, as the estimator of 2026-08 counts them: of the row types in bytes.
double prefetched_ids(const Terms& terms, ShardingType type) {
  const double id_bytes = terms.settings.hardware.id_bytes;
  double ids = terms.ids * terms.world;
  if (type == ShardingType::row_wise) ids = terms.ids * id_bytes;
  if (in_rows(type) && type != ShardingType::row_wise) ids = terms.inputs * terms.world * id_bytes;
  return std::ceil(ids) * (terms.table.weighted ? 2 : 1);
}

// `sharers`: shards that share the fetches of the whole table.
double prefetch(const Terms& terms, ShardingType type, double sharers) {
  const auto ratio = terms.table.load_factor();
  const auto& statistics = terms.table.cache_statistics;
  if (!ratio || !statistics || terms.kernel != ComputeKernel::fused_uvm_caching) return 0;
  const auto& line = terms.settings.prefetch_line;
  const double all_ids = std::ceil(terms.world * terms.ids);
  double unique = statistics->expected_lookups;
  if (line) unique = std::min({unique, all_ids, static_cast<double>(terms.table.rows)});
  const double asked = terms.settings.fetches_by_batch_inputs ? all_ids : unique;
  const double fetches = statistics->miss_rate(*ratio) * asked / sharers;
  if (!line) return fetches * terms.cols * terms.element / terms.topology.hbm_to_ddr_bandwidth;
  return line->lookups * (prefetched_ids(terms, type) / sharers) + line->unique_lookups * (unique / sharers) +
         line->fetched_columns * (fetches * terms.cols);
}

double world_bandwidth(const Terms& terms, CollectiveKind kind) {
  return collective_bandwidth(terms.topology, terms.topology.local_world_size, terms.topology.world_size, kind);
}

// table_wise, column_wise, table_column_wise.
Perf whole_rows(const Terms& terms, ShardingType type) {
  const double ids = terms.inputs * terms.world;
  const double forward = terms.outputs * terms.world * terms.cols * terms.all_to_all.forward;
  const double backward = terms.outputs * terms.world * terms.cols * terms.all_to_all.backward;
  const double rate = world_bandwidth(terms, CollectiveKind::all_to_all);
  Perf perf;
  perf.fwd_comms = forward / rate;
  perf.fwd_compute = forward_compute(terms, type, ids, forward);
  if (terms.ends_here()) return perf;
  perf.bwd_comms = backward / rate;
  perf.bwd_compute = backward_compute(terms, type, ids, backward, perf.fwd_compute);
  perf.prefetch_compute = prefetch(terms, type, 1);
  return perf;
}

Perf row_wise(const Terms& terms) {
  const WireBytes& wire = terms.table.pooled ? terms.reduce_scatter : terms.all_to_all;
  const double ids = terms.inputs * terms.world;
  const double forward = terms.outputs * terms.world * terms.cols * wire.forward;
  const double backward = terms.outputs * terms.world * terms.cols * wire.backward;
  Perf perf;
  perf.fwd_comms = forward / world_bandwidth(terms, CollectiveKind::reduce_scatter);
  perf.fwd_compute = forward_compute(terms, ShardingType::row_wise, ids, forward);
  perf.prefetch_compute = prefetch(terms, ShardingType::row_wise, terms.world);
  if (terms.ends_here()) return perf;
  perf.bwd_comms = backward / world_bandwidth(terms, CollectiveKind::all_gather) +
                   backward * kBatchedCopyFactor / terms.kernel_bandwidth;
  perf.bwd_compute = backward_compute(terms, ShardingType::row_wise, ids, backward, perf.fwd_compute);
  return perf;
}

// Groups of ranks that exchange what each has summed up: hosts, or NVLink domains. The older version divides in
// doubles.
double groups_of(const Terms& terms) {
  if (!terms.newest()) return terms.world / terms.local;
  return std::max(1, terms.topology.world_size / terms.topology.group_size());
}

// table_row_wise and grid_shard: inside the group first, then one partner in every group. Of sequences 2026-08 takes
// all ids of the batch across groups, not the part of one row shard. A group of several hosts is priced at the rate
// between hosts, as TorchRec prices it.
Perf two_levels(const Terms& terms, ShardingType type) {
  const Topology& topology = terms.topology;
  const int group = topology.group_size(), local = std::min(group, topology.local_world_size);
  const double ids = terms.inputs * terms.world;
  const double forward = terms.outputs * terms.world * terms.cols * terms.reduce_scatter.forward;
  const double backward = terms.outputs * terms.world * terms.cols * terms.reduce_scatter.backward;
  Perf perf;
  perf.fwd_comms = forward / collective_bandwidth(topology, local, group, CollectiveKind::reduce_scatter);
  perf.bwd_comms = backward / collective_bandwidth(topology, local, group, CollectiveKind::all_gather);
  if (const double groups = groups_of(terms); groups > 1) {
    const double rate = collective_bandwidth(topology, 1, static_cast<int>(groups), CollectiveKind::all_to_all);
    const double vectors = terms.newest() && !terms.table.pooled ? terms.ids : terms.outputs;
    perf.fwd_comms += vectors * groups * terms.cols * terms.all_to_all.forward / rate;
    perf.bwd_comms += vectors * groups * terms.cols * terms.all_to_all.backward / rate;
  }
  perf.fwd_compute = forward_compute(terms, type, ids, forward);
  perf.bwd_comms += backward * kBatchedCopyFactor / terms.kernel_bandwidth;
  perf.bwd_compute = backward_compute(terms, type, ids, backward, perf.fwd_compute);
  perf.prefetch_compute = prefetch(terms, type, group);
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
  const double output = terms.outputs * terms.cols * terms.element;
  const double size = table_bytes(terms, rows);
  const double nodes = std::min(terms.world / terms.local, 2.0);
  const double rate = world_bandwidth(terms, CollectiveKind::all_reduce);
  double all_reduce = size * (2 * nodes - 1) / nodes / rate;
  if (terms.world > 2 * terms.local) all_reduce *= 2;
  Perf perf;
  perf.fwd_compute = forward_compute(terms, ShardingType::data_parallel, terms.inputs, output);
  perf.bwd_compute = backward_compute(terms, ShardingType::data_parallel, terms.inputs, output, perf.fwd_compute);
  perf.bwd_comms = all_reduce + size * kElementwiseFactor / terms.kernel_bandwidth;
  return perf;
}

Perf perf_of(const Terms& terms, ShardingType type, std::int64_t rows) {
  switch (type) {
    case ShardingType::data_parallel:
      return data_parallel(terms, rows);
    case ShardingType::row_wise:
      return row_wise(terms);
    case ShardingType::table_row_wise:
    case ShardingType::grid_shard:
      return two_levels(terms, type);
    default:
      return whole_rows(terms, type);
  }
}

// Adds what is new in 2026-08: the exchange of ids, which is part of no total, and inference without a backward pass.
void add_newest(Perf& perf, const Terms& terms, ShardingType type) {
  if (!terms.newest()) return;
  if (terms.settings.inference) perf.bwd_compute = perf.bwd_comms = 0;
  if (type == ShardingType::data_parallel) return;
  perf.input_dist_comms = std::ceil(terms.ids * terms.world * terms.settings.hardware.id_bytes) /
                          world_bandwidth(terms, CollectiveKind::all_to_all);
}

void require_support(const TableSpec& table, ShardingType type, const HardwareConfig& hardware) {
  if (hardware.supports(type)) return;
  std::vector<std::string> types;
  for (const ShardingType known : hardware.supported_types) types.emplace_back(name_of(known));
  throw PlannerError(PlannerFailure::value_error,
                     fmt::format("table '{}': {} is none of the supported_sharding_types of the hardware ({})",
                                 table.name, name_of(type), fmt::join(types, ", ")));
}

}  // namespace

Perf shard_perf(const TableSpec& table, const BatchLoad& load, ShardingType type, ComputeKernel kernel,
                const Topology& topology, const EstimateSettings& settings, std::int64_t rows, std::int64_t cols) {
  require_support(table, type, settings.hardware);
  const double inputs = inputs_per_shard(load, type, topology);
  const double element = table.element_bytes;
  const Terms terms{table,
                    topology,
                    settings,
                    load.inputs,
                    inputs,
                    table.pooled ? load.bags : inputs,
                    static_cast<double>(topology.world_size),
                    static_cast<double>(topology.local_world_size),
                    static_cast<double>(rows),
                    static_cast<double>(cols),
                    element,
                    bandwidth_of(table, kernel, topology, settings.hardware),
                    kernel,
                    wire_or(table.pooled ? table.all_to_all : table.sequence_all_to_all, element),
                    wire_or(table.pooled ? table.reduce_scatter : std::nullopt, element)};
  Perf perf = perf_of(terms, type, rows);
  add_newest(perf, terms, type);
  return perf;
}

}  // namespace shardsim::torchrec
