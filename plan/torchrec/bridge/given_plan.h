#pragma once

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "plan/torchrec/bridge/planner_request.h"
#include "plan/torchrec/search/partitioner.h"
#include "topology/graph/cluster.h"

namespace shardsim::torchrec {

// One table of a plan as TorchRec's estimators see it. Row tiers and flex, which TorchRec does not know, are taken as
// its nearest types (flex: table_row_wise on every node) with the tier's rows and its share of the accesses.
struct GivenTable {
  TableSpec table;  // with the part of the accesses that the placements get
  ShardingOption option;
  std::vector<int> ranks;  // of each shard
};

// The placements of a plan, one option per table and tier, estimated. Sizes of row shards are TorchRec's blocks.
// Errors: Failure::input for a compute kernel that TorchRec has no rate for, at the place that `entries` has for the
// table; without a place where these are not known.
std::vector<GivenTable> given_tables(const Plan& plan, const Workload& workload, const PlannerRequest& request,
                                     const std::vector<Place>& entries = {});

// The same as a run that found this plan, with its rating; without reservations or proposals.
RunResult rated_run(const Plan& plan, const Workload& workload, const PlannerRequest& request,
                    const std::vector<Place>& entries = {});

// That with reservations, for its statistics.
RunResult given_run(const Plan& plan, const Workload& workload, const PlannerRequest& request,
                    const std::vector<Place>& entries = {});

// The plan that an assignment means. `order[i]` is the place in the workload of table i of the search space.
Plan plan_of(const std::vector<ShardingOption>& options, const Assignment& assignment, const SearchSpace& space,
             const std::vector<std::size_t>& order, std::uint64_t seed);

// The estimate of TorchRec's planner for one iteration of a plan, in the parts that a simulation has.
struct IterationEstimate {
  // Milliseconds by what they pay for; added up they are Perf::total but for rounding.
  struct Parts {
    double lookup = 0;  // fwd_compute
    double update = 0;  // bwd_compute, and the optimizer kernels that data_parallel's bwd_comms contains
    // Comms, passes over memory left out:
    double all_to_all = 0;      // of whole rows, of sequences, and across hosts of the two-level types
    double reduce_scatter = 0;  // of pooled row_wise and in the host, with the all-gather of the backward pass
    double all_reduce = 0;      // of data_parallel
    double copies = 0;          // the copies (factor 2.455) that bwd_comms of the row types contains
    double prefetch = 0;        // prefetch_compute

    double total() const { return lookup + update + all_to_all + reduce_scatter + all_reduce + copies + prefetch; }
  };
  double iteration_ms = 0;  // perf_rating, to the last bit: the busiest rank's sum, what the planner minimises
  int busiest = 0;          // that rank; the first of several
  Parts mean;               // over the ranks
};

// Errors: Failure::input for compute kernels that TorchRec has no rate for.
IterationEstimate estimate_iteration(const Plan& plan, const Workload& workload, const PlannerRequest& request);

}  // namespace shardsim::torchrec
