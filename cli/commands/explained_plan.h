#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/torchrec/search/planner_run.h"
#include "sim/scenario/scenario.h"
#include "sim/study/study.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// A table that is part of a plan and of no figure.
struct UnsizedTable {
  std::string fqn, sharding_type, compute_kernel;
  std::vector<int> ranks;
};

// A plan with the inputs that its figures follow from.
struct PlanToExplain {
  torchrec::RunSettings settings;
  torchrec::RunResult run;
  std::vector<std::string> notes;     // for the reader, a sentence or two each
  std::vector<UnsizedTable> unsized;  // tables whose size the plan file does not say
};

// A plan file alone: TorchRec's own defaults stand for what it does not say. Errors: Failure::input with the line.
PlanToExplain explained_plan_file(const std::string& path);

// The plan of a case. It need not fit: how far it is from fitting is what one may want to know.
// Errors: Failure::infeasible, naming the case, when its planner finds no plan; Failure::input; Interrupted.
PlanToExplain explained_case(const Case& item, std::uint64_t seed, const PlanWatch& watch);

}  // namespace shardsim
