#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments/arguments.h"
#include "plan/plan.h"
#include "plan/torchrec/search/planner_run.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// A table of a plan file that does not say its size.
struct UnsizedTable {
  std::string fqn;
  Strategy strategy = Strategy::data_parallel;
  std::string compute_kernel;
  std::vector<int> ranks;
};

// A plan with the inputs that its figures follow from.
struct PlanToExplain {
  torchrec::RunSettings settings;
  torchrec::RunResult run;
  std::vector<std::string> notes;     // for the reader, a sentence or two each
  std::vector<UnsizedTable> unsized;  // part of the plan and of no figure
};

// The plan of a case, which keeps the case's constraints, and where its file, if it has one, describes each table.
struct CasePlan {
  Plan plan;
  std::vector<Place> entries;
};

CasePlan plan_of(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch);

// A plan file alone: TorchRec's own defaults stand for what it does not say. Errors: Failure::input with the line;
// Failure::infeasible.
PlanToExplain explained_plan_file(const std::string& path);

// The plan of a case. It need not fit: how far it is from fitting is what one may want to know.
// Errors: Failure::infeasible, naming the case, when its planner finds no plan; Failure::input; Interrupted.
PlanToExplain explained_case(const Case& item, const Arguments& given, std::uint64_t seed, const PlanWatch& watch);

}  // namespace shardsim
