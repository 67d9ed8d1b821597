#include "plan/torchrec/iteration_estimate.h"

#include <algorithm>

#include "plan/torchrec/perf_estimate.h"

namespace shardsim::torchrec {
namespace {

using Parts = IterationEstimate::Parts;

// The same machine, with device memory that costs no time: what is left of a shard's comms is what moves over links.
Topology with_free_memory(Topology topology) {
  constexpr double kFree = 1e200;  // not infinity, which a cache share of 0 would make no number
  topology.hbm_bandwidth = topology.ddr_bandwidth = topology.hbm_to_ddr_bandwidth = kFree;
  return topology;
}

Parts parts_of(const ShardRun& run, const ShardingOption& option, const TableSpec& table, const RunSettings& settings) {
  const BatchLoad load = batch_load(table, settings.estimate.batch_size);
  const Perf links = shard_perf(table, load, option.type, option.kernel, with_free_memory(settings.topology),
                                settings.estimate, table.rows, run.cols);
  const double passes = run.perf.bwd_comms - links.bwd_comms;
  Parts parts;
  parts.lookup = run.perf.fwd_compute;
  parts.update = run.perf.bwd_compute;
  parts.collectives = run.perf.fwd_comms + links.bwd_comms;
  parts.prefetch = run.perf.prefetch_compute;
  (option.type == ShardingType::data_parallel ? parts.update : parts.copies) += passes;
  return parts;
}

void add(Parts& sum, const Parts& parts, double times) {
  sum.lookup += times * parts.lookup;
  sum.update += times * parts.update;
  sum.collectives += times * parts.collectives;
  sum.copies += times * parts.copies;
  sum.prefetch += times * parts.prefetch;
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
