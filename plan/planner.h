#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/rng.h"
#include "models/workload/workload.h"
#include "plan/constraints.h"
#include "plan/memory_model.h"
#include "plan/plan.h"
#include "plan/planner_host.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// Data and services that a planner may use in addition to the workload and the cluster.
struct PlannerContext {
  const MemoryModel& memory;
  std::uint64_t seed = 1;
  const PlannerHost& host;                   // who asks for the plan
  const Constraints* constraints = nullptr;  // the placements that the scenario allows for each table; null: everything
};

// Decides where every row and column of every table lives.
// Contract: same arguments, same plan (randomness only from context.seed). Every table is covered exactly once.
//           Throws Error (Failure::infeasible) when its own memory budget cannot be met; whether the plan fits the
//           device is check_memory's question.
class Planner {
 public:
  virtual ~Planner() = default;
  virtual Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const = 0;
};

using PlannerMaker = std::unique_ptr<Planner>(MapReader& options);

struct PlannerEntry {
  std::string_view name;  // as written in a scenario
  std::string_view help;  // one line
  PlannerMaker* make;
  bool drawn = false;  // whether the plan is drawn at random, with the option `seed`
  bool tiers = false;  // whether it may cut the rows of a table into tiers, which TorchRec cannot
};

std::span<const PlannerEntry> planners();  // alphabetical
std::vector<std::string> planner_names();
const PlannerEntry* find_planner(std::string_view name);  // null: none has this name

// Makes the implementation that `options` (a map with `name`) names. Errors: an unknown name (the known ones are
// listed), unknown options.
std::unique_ptr<Planner> make_planner(const Tree& options);

}  // namespace shardsim
