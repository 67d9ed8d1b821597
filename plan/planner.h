#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/rng.h"
#include "models/workload/workload.h"
#include "plan/constraints.h"
#include "plan/flexshard_equations.h"
#include "plan/iteration_outline.h"
#include "plan/memory_model.h"
#include "plan/placement_load.h"
#include "plan/plan.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// The result of one simulated iteration of a plan.
struct PlanTrial {
  Seconds time;
  std::int64_t peak_bytes = 0;  // of the fullest GPU (sim/memory/memory_profile.h)
};

// Data and services that a planner may use in addition to the workload and the cluster.
struct PlannerContext {
  const MemoryModel& memory;
  std::uint64_t seed = 1;
  // The four bandwidths of the FlexShard planner as the simulator sees them on this cluster; may be empty.
  std::function<PlannerBandwidths()> simulated_bandwidths;
  // One iteration of a plan as the simulator sees it, for planners that judge plans by simulation; may be empty.
  std::function<Seconds(const Plan&)> simulate = {};
  // Receives a line of text about how the plan was chosen; may be empty.
  std::function<void(const std::string&)> note = {};
  // Called between the steps of a long search; throws when the user asked to stop. May be empty.
  std::function<void()> check_stop = {};
  // Returns the work that one placement of the workload adds to an iteration on this cluster; `compute` gives the
  // seconds of its lookups and updates. May be empty, and `compute` null.
  std::function<PlacementLoad(const Placement&)> load = {};
  const ComputeModel* compute = nullptr;
  // The family of kernels whose lookups and updates `compute` times (fbgemm); "" where it knows of none.
  std::string kernels = {};
  // The operations of an iteration of a plan, in the order and with the dependencies of the lowering. The placements
  // may leave out parts of tables, or hold them several times. May be empty.
  std::function<IterationOutline(const Plan&)> outline = {};
  // One iteration of a plan by a closed formula, in which transfers do not slow each other down. A call takes some
  // milliseconds. May be empty.
  std::function<Seconds(const Plan&)> estimate = {};
  // Receives a figure of the planner about the plan that it returns. "cost_ms" is the quantity that it minimised, if
  // that is a time of an iteration; it may choose other names freely. May be empty.
  std::function<void(const std::string& name, double value)> figure = {};
  // Receives the name of what labelled the data from which the planner's costs were learned, such as the compute model
  // "roofline". If the same model also judges its plans, tables say "in-model". May be empty.
  std::function<void(const std::string& provider)> trained_on = {};
  // The placements that the scenario allows for each table; everything if null.
  const Constraints* constraints = nullptr;
  // The same simulation as `simulate`, for planners that ask for the memory, too; may be empty.
  std::function<PlanTrial(const Plan&)> trial = {};
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
