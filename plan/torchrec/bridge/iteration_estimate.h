#pragma once

#include "plan/torchrec/bridge/given_plan.h"

namespace shardsim::torchrec {

// What TorchRec's planner says of one iteration of a plan, taken apart as a simulation can be.
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
