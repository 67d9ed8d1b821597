#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/rng.h"
#include "models/workload/workload.h"
#include "plan/constraints.h"
#include "plan/flexshard_equations.h"
#include "plan/memory_model.h"
#include "plan/placement_load.h"
#include "plan/plan.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// What a planner may use beside workload and cluster.
struct PlannerContext {
  const MemoryModel& memory;
  std::uint64_t seed = 1;
  // The four bandwidths of the FlexShard planner as the simulator sees them on this cluster; may be empty.
  std::function<PlannerBandwidths()> simulated_bandwidths;
  // One iteration of a plan as the simulator sees it, for planners that judge plans by simulation; may be empty.
  std::function<Seconds(const Plan&)> simulate = {};
  // Takes a line for people about how the plan was chosen; may be empty.
  std::function<void(const std::string&)> note = {};
  // Called between the steps of a long search; throws when the user asked to stop. May be empty.
  std::function<void()> check_stop = {};
  // What one placement of the workload adds to an iteration on this cluster, with the seconds that `compute` gives its
  // lookups and updates; may be empty, and `compute` null.
  std::function<PlacementLoad(const Placement&)> load = {};
  const ComputeModel* compute = nullptr;
  // One iteration of a plan in closed form, where no transfer slows another: some milliseconds each. May be empty.
  std::function<Seconds(const Plan&)> estimate = {};
  // Takes a figure of the planner about the plan that it returns: "cost_ms" is what it minimised, if that is a time of
  // an iteration; others are named as it likes. May be empty.
  std::function<void(const std::string& name, double value)> figure = {};
  // Takes what labelled the data that the planner's costs were learned from, as a compute model is named: "roofline".
  // Where that is what judges its plans, too, tables say "in-model". May be empty.
  std::function<void(const std::string& provider)> trained_on = {};
  // What the scenario allows for each table; null: everything.
  const Constraints* constraints = nullptr;
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

struct PlannerEntry {
  std::string_view name;  // as written in a scenario
  std::string_view help;  // one line
  std::unique_ptr<Planner> (*make)(MapReader& options);
  bool drawn = false;  // at random, by its option `seed`
};

std::span<const PlannerEntry> planners();  // alphabetical

// The one that `options` (a map with `name`) asks for. Errors: unknown name (lists the known ones), unknown options.
std::unique_ptr<Planner> make_planner(const Tree& options);

}  // namespace shardsim
