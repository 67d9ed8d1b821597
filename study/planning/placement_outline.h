#pragma once

#include <string>

#include "models/compute/compute_model.h"
#include "models/software/software.h"
#include "plan/iteration_outline.h"
#include "plan/plan.h"
#include "program/program.h"
#include "sim/lower/lower.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// Returns the key that keeps apart the operations that placements add to: LoadStep::key. `program` is `plan` lowered.
std::string load_key(const Op& op, const Program& program, const Plan& plan, const Workload& workload);

// Returns the options for a Program that is only priced: without the launches of its host. `software` may be null.
LoweringOptions priced_options(bool overlap, const Software* software);

// The operations of an iteration of the plan, without the amounts of its placements. `overlap` as for lower();
// `software`: whose kernels the dense part runs, null where none is stated. The host's launches are left out.
IterationOutline iteration_outline(const Plan& plan, const Workload& workload, const Cluster& cluster,
                                   const ComputeModel& compute, bool overlap, const Software* software = nullptr);

}  // namespace shardsim
