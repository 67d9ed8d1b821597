#include <algorithm>

#include "plan/torchrec/bridge/given_plan.h"
#include "plan/torchrec/estimate/shard_estimate.h"

namespace shardsim::torchrec {
namespace {

using Parts = IterationEstimate::Parts;

constexpr double kFree = 1e200;  // a rate; not infinity, which a cache share of 0 would make no number

// The same machine, with device memory that costs no time: what is left of a shard's comms is what moves over links.
Topology with_free_memory(Topology topology) {
  topology.hbm_bandwidth = topology.ddr_bandwidth = topology.hbm_to_ddr_bandwidth = kFree;
  topology.ssd_bandwidth = kFree;
  return topology;
}

// By one all-to-all, as sequences are under every type.
bool sends_whole_rows(const ShardingOption& option, const TableSpec& table) {
  if (!table.pooled) return true;
  switch (option.type) {
    case ShardingType::table_wise:
    case ShardingType::column_wise:
    case ShardingType::table_column_wise:
      return true;
    default:
      return false;
  }
}

double comms(const Perf& perf) {
  return perf.fwd_comms + perf.bwd_comms;
}

Parts parts_of(const ShardRun& run, const ShardingOption& option, const TableSpec& table, const RunSettings& settings) {
  const BatchLoad load = batch_load(table, settings.estimate);
  EstimateSettings estimate = settings.estimate;
  if (estimate.hardware.states_bandwidths()) estimate.hardware.device_bandwidth = kFree;
  estimate.hardware.kernel_bandwidths.clear();
  const auto on = [&](const Topology& topology) {
    return comms(shard_perf(table, load, option.type, option.kernel, topology, estimate, run.rows, run.cols));
  };
  const Topology free_memory = with_free_memory(settings.topology);
  const double links = on(free_memory);
  Parts parts;
  parts.lookup = run.perf.fwd_compute;
  parts.update = run.perf.bwd_compute;
  parts.prefetch = run.perf.prefetch_compute;
  (option.type == ShardingType::data_parallel ? parts.update : parts.copies) += comms(run.perf) - links;
  if (option.type == ShardingType::data_parallel) {
    parts.all_reduce = links;
  } else if (sends_whole_rows(option, table)) {
    parts.all_to_all = links;
  } else {
    Topology free_host_links = free_memory;
    free_host_links.intra_host_bandwidth = kFree;
    parts.all_to_all = option.type == ShardingType::row_wise ? 0 : on(free_host_links);  // two levels
    parts.reduce_scatter = links - parts.all_to_all;
  }
  return parts;
}

void add(Parts& sum, const Parts& parts, double times) {
  for (double Parts::*part : {&Parts::lookup, &Parts::update, &Parts::all_to_all, &Parts::reduce_scatter,
                              &Parts::all_reduce, &Parts::copies, &Parts::prefetch}) {
    sum.*part += times * parts.*part;
  }
}

}  // namespace

IterationEstimate estimate_iteration(const Plan& plan, const Workload& workload, const PlannerRequest& request) {
  const RunResult run = rated_run(plan, workload, request);
  const int world = request.settings.topology.world_size;
  const std::vector<double> ranks = perf_per_rank(proposal_of(run.plan), run.assignment, world);
  IterationEstimate estimate;
  estimate.iteration_ms = run.rating;
  estimate.busiest = static_cast<int>(std::max_element(ranks.begin(), ranks.end()) - ranks.begin());
  for (const ShardingOption& option : run.plan) {
    for (const ShardRun& shards : option.runs) {
      const Parts parts = parts_of(shards, option, run.space.table_of(option), request.settings);
      add(estimate.mean, parts, static_cast<double>(shards.count) / world);
    }
  }
  return estimate;
}

}  // namespace shardsim::torchrec
