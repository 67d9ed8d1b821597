#pragma once

#include "plan/torchrec/given_plan.h"

namespace shardsim::torchrec {

// What TorchRec's planner says of one iteration of a plan, taken apart as a simulation can be.
struct IterationEstimate {
  // Milliseconds by what they pay for; added up they are Perf::total but for rounding.
  struct Parts {
    double lookup = 0;       // fwd_compute
    double update = 0;       // bwd_compute, and the optimizer kernels that data_parallel's bwd_comms contains
    double collectives = 0;  // fwd_comms and bwd_comms without passes over memory
    double copies = 0;       // the copies (factor 2.455) that bwd_comms of the row types contains
    double prefetch = 0;     // prefetch_compute

    double total() const { return lookup + update + collectives + copies + prefetch; }
  };
  double iteration_ms = 0;  // perf_rating, to the last bit: the busiest rank's sum, what the planner minimises
  int busiest = 0;          // that rank; the first of several
  Parts mean;               // over the ranks
};

// Errors: Failure::input for compute kernels that TorchRec has no rate for.
IterationEstimate estimate_iteration(const Plan& plan, const Workload& workload, const PlannerRequest& request);

}  // namespace shardsim::torchrec
