#pragma once

#include <functional>
#include <memory>

#include "base/packed.h"
#include "study/planning/prepared_case.h"
#include "study/result/result.h"

namespace shardsim {

// The outcome of one of several planners, which its worker sends.
struct PlannerOutcome {
  std::optional<CaseResult> result;        // none: the planner made no plan
  std::string reason;                      // why
  bool refused = false;                    // as ComparedPlan has it
  std::optional<std::int64_t> bytes_over;  // as ComparedPlan has it
  bool host_rows = false;                  // likewise
  std::optional<std::string> beyond_torchrec;
  PlannerFigures figures;
  double planning_cpu_s = 0;  // of this process and those that it started
};

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PlannerOutcome> auto& outcome) {
  visit(outcome.result, outcome.reason, outcome.refused, outcome.bytes_over, outcome.host_rows, outcome.beyond_torchrec,
        outcome.figures.values, outcome.figures.trained_on, outcome.planning_cpu_s);
}

// Adds what a planner said of its choice, but for what the case's notes say already.
void add_planner_notes(CaseResult& result, const std::vector<std::string>& lines);

// The work of that worker: it makes the plan, which the others of the comparison do elsewhere at the same time, and
// simulates it. `cluster` is that of the comparison; `pareto` as for simulated_case.
PlannerOutcome planned_and_simulated(const Scenario& scenario, const Case& item, std::shared_ptr<const Cluster> cluster,
                                     bool pareto);

// The comparisons of a scenario, one for each case that lists planners, as far as they are known before planning.
// `cluster_of`: the cluster of the case at that place.
std::vector<PlannerComparison> begun_comparisons(const Scenario& scenario,
                                                 const std::function<const Cluster&(std::size_t)>& cluster_of);

}  // namespace shardsim
