#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

class ComputeModel;

// The result of one simulated iteration of a plan.
struct PlanTrial {
  Seconds time;
  std::int64_t peak_bytes = 0;  // of the fullest GPU (sim/memory/memory_profile.h)
};

// Whoever asks for a plan: answers a planner's questions about the workload on the cluster, and hears what it says on
// its way. A command overrides what it can answer; this class answers nothing and hears nothing.
class PlannerHost {
 public:
  virtual ~PlannerHost() = default;

  // Groups of questions that are answered together. Asking another one is a fault of the planner (std::logic_error).
  enum class Question { bandwidths, loads, iterations, simulation, trial };
  virtual bool answers(Question) const { return false; }

  // bandwidths: the four of the FlexShard planner as the simulator sees them on this cluster.
  virtual PlannerBandwidths bandwidths() const;
  // loads: the work that one placement adds to an iteration, and what gives the seconds of its lookups and updates.
  virtual PlacementLoad load_of(const Placement& placement) const;
  virtual const ComputeModel& compute_model() const;
  // Who times them: a family of kernels (fbgemm), or a compute model without one (roofline, learned); "": not said.
  virtual std::string kernels() const { return ""; }
  // Plans of this workload on this cluster that are there already, with which a search may begin, too.
  virtual std::vector<Plan> known_plans() const { return {}; }
  // iterations: the operations of an iteration of a plan, in the order and with the dependencies of the lowering, where
  // placements may leave out parts of tables or hold them several times; and the time of an iteration by a closed
  // formula, in which transfers do not slow each other down. That takes some milliseconds.
  virtual IterationOutline outline_of(const Plan& plan) const;
  virtual Seconds estimated(const Plan& plan) const;
  // simulation: one iteration of a plan as the simulator sees it. trial: the same, with the memory that it takes.
  virtual Seconds simulated(const Plan& plan) const;
  virtual PlanTrial tried(const Plan& plan) const;

  // Tells whether anybody hears what is said below.
  virtual bool listens() const { return false; }
  // A line of text about how the plan was chosen.
  virtual void say(const std::string&) const {}
  // A figure about the plan that is returned. "cost_ms" is the quantity that the planner minimised, if that is a time
  // of an iteration; other names are its own.
  virtual void state(const std::string&, double) const {}
  // The name of what labelled the data from which the planner's costs were learned, such as the compute model
  // "roofline". If the same model also judges its plans, tables say "in-model".
  virtual void learned_from(const std::string&) const {}

  // Called between the steps of a long search; throws when the user asked to stop.
  virtual void stop_if_asked() const {}
};

// Another host but for what a class below it overrides. It knows no plans: those of the other one may be of more
// tables.
class HostOver : public PlannerHost {
 public:
  explicit HostOver(const PlannerHost& below) : below_(below) {}

  bool answers(Question question) const override { return below_.answers(question); }
  PlannerBandwidths bandwidths() const override { return below_.bandwidths(); }
  PlacementLoad load_of(const Placement& placement) const override { return below_.load_of(placement); }
  const ComputeModel& compute_model() const override { return below_.compute_model(); }
  std::string kernels() const override { return below_.kernels(); }
  IterationOutline outline_of(const Plan& plan) const override { return below_.outline_of(plan); }
  Seconds estimated(const Plan& plan) const override { return below_.estimated(plan); }
  Seconds simulated(const Plan& plan) const override { return below_.simulated(plan); }
  PlanTrial tried(const Plan& plan) const override { return below_.tried(plan); }
  bool listens() const override { return below_.listens(); }
  void say(const std::string& text) const override { below_.say(text); }
  void state(const std::string& name, double value) const override { below_.state(name, value); }
  void learned_from(const std::string& provider) const override { below_.learned_from(provider); }
  void stop_if_asked() const override { below_.stop_if_asked(); }

 protected:
  const PlannerHost& below() const { return below_; }

 private:
  const PlannerHost& below_;
};

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
