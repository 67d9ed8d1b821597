#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/planner.h"

namespace shardsim {

// Some tables of a workload and who plans them.
struct PlanPart {
  std::string name;     // as messages call it: tables "history*" (flexshard_3tier)
  std::string planner;  // the name of the planner; its figures begin with it
  const Planner* made = nullptr;
  std::vector<int> tables;  // numbers in the workload, rising, not empty; no table is in two parts
};

// One plan for all parts, made one after the other in their order. Each planner sees a workload of its tables alone, on
// the cluster with the memory that the parts before it leave on the fullest rank (and, of rows in host memory, on the
// fullest node); what the simulator says of its plans is of the parts before it, too. With a single part that has all
// tables it is that planner's own plan. Errors: those of the planners, with the part's name;
// Failure::infeasible with the part where one finds no memory left or takes more than there is;
// Failure::input where two parts spread rows by hashes of different seeds.
Plan plan_in_parts(std::span<const PlanPart> parts, const Workload& workload, const Cluster& cluster,
                   const PlannerContext& context);

}  // namespace shardsim
