#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardsim {

struct CaseResult;
struct Scenario;

// The figures that a planner states of the plan that it made.
struct PlannerFigures {
  std::map<std::string, double> values;  // by name; "cost_ms": the time of an iteration that it minimised
  std::string trained_on;                // what labelled the data that its costs were learned from; "": nothing did
};

// One planner of a comparison.
struct ComparedPlan {
  std::string name;     // of its case
  std::string planner;  // by which the comparison names it
  std::optional<double> iteration_ms =
      {};  // simulated; none: it made no plan, because nothing fits or it refuses the tables
  // The bytes over on the fullest GPU, where it has a plan that does not fit: at the simulated peak, or by the memory
  // model, which refuses a plan before it is simulated.
  std::optional<std::int64_t> bytes_over = {};
  std::string reason = {};  // why it has none; "" where it has
  bool refused = false;     // it refuses what it was given, be there ever so much memory
  PlannerFigures figures = {};
  bool host_rows = false;  // it keeps rows in host memory, of which the lower bound says nothing
  // Names what of its plan TorchRec does not have (plan/torchrec_types.h), "" where it can run all of it; none without
  // a plan, and for workloads of HugeCTR.
  std::optional<std::string> beyond_torchrec = {};
  bool needs_options = false;  // `all` names it, and gives it no options: without some it makes no plan at all

  std::optional<double> fitting_ms() const { return bytes_over ? std::nullopt : iteration_ms; }
  // 100 (cost_ms - iteration_ms) / iteration_ms; none where one of them is missing.
  std::optional<double> cost_error_pct() const;
};

// The planners of one case, judged by the same simulation.
struct PlannerComparison {
  std::string name;               // of the case that lists them
  std::vector<std::string> also;  // cases of the scenario that differ in their plans alone, for which it stands
  std::string workload, cluster;
  int world_size = 0;
  std::string judged_by;                      // the compute model, as PlannerFigures::trained_on names it
  std::string network;                        // that the judging simulation ran on
  std::optional<double> lower_bound_ms = {};  // that no plan's iteration goes below; none where it is not known
  std::string lower_bound_lacks;              // what that bound does not count; "" where it counts all
  std::vector<ComparedPlan> planners;         // in the scenario's order

  // Returns how many times as long as the bound a plan takes; none where one is not known, or the bound does not hold
  // for it.
  std::optional<double> times_bound(const ComparedPlan& plan) const;
  // The best of the plans that fit; where none does, of all that were simulated; none where no planner has a plan.
  std::optional<double> best_ms() const;
  std::vector<std::string> without_options() const;  // the planners that need some
  // True when some planner's costs were learned from what judges it here.
  bool in_model() const;
  bool in_model(const ComparedPlan& plan) const { return plan.figures.trained_on == judged_by; }
};

// One planner over all comparisons that it takes part in; those that need options take part in none.
struct PlannerTotal {
  std::string planner;
  int cases = 0, solved = 0;
  int won = 0;  // cases in which no other one is faster; a tie counts for each
  // Over the cases that all planners solve, where planners that solve no case at all are ignored; absent if there is no
  // such case.
  std::optional<double> mean_iteration_ms = {};
  std::optional<double> mean_times_best = {};  // geometric mean of the iterations, each over the shortest of its case
  // Beside PlannerTotals::best: over all cases that both solve, however many others fail there.
  int pairs = 0;                               // how many
  std::optional<double> mean_times_pair = {};  // geometric mean of its iterations over that one's; none without a pair
};

struct PlannerTotals {
  int cases = 0;   // compared
  int common = 0;  // of them, those that the means are over
  // Who has the fastest plan most often; of equals who has most plans, then the least geometric mean of its iterations
  // over the shortest of their cases; "" where none has a plan.
  std::string best;
  std::vector<PlannerTotal> planners;  // in the order in which they come up
};

PlannerTotals totals_of(const std::vector<PlannerComparison>& comparisons);

}  // namespace shardsim
