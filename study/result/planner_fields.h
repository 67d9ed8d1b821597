#pragma once

#include "base/packed.h"
#include "study/planning/planner_comparison.h"

namespace shardsim {

// The members of comparisons of planners, as study/result/result_fields.h has those of all else in a result.

// Written as whether TorchRec runs the plan, and why not; neither of a plan of which that is not known.
template <typename Visitor>
void torchrec_fields(Visitor& visit, MaybeConst<ComparedPlan> auto& plan) {
  visit(plan.beyond_torchrec);
  if constexpr (Named<Visitor>) {
    std::string why = plan.beyond_torchrec.value_or("");
    std::optional<bool> runs;
    if (plan.beyond_torchrec) runs = why.empty();
    visit.take("runs_in_torchrec", runs);
    visit.take("beyond_torchrec", why);
    if constexpr (Visitor::kReads) {
      if (runs) plan.beyond_torchrec = why;
    }
  }
}

// A planner of a comparison.
template <typename Visitor>
void plan_fields(Visitor& visit, MaybeConst<ComparedPlan> auto& plan, MaybeConst<PlannerComparison> auto& comparison) {
  visit.field("planner", plan.planner);
  visit.field("case", plan.name);
  visit.derived("solved", [&] { return plan.fitting_ms().has_value(); });
  visit.field("iteration_ms", plan.iteration_ms);
  if (plan.iteration_ms) {
    visit.derived("times_best", [&] { return *plan.iteration_ms / *comparison.best_ms(); });
    if (comparison.times_bound(plan)) visit.derived("times_lower_bound", [&] { return comparison.times_bound(plan); });
  }
  visit.field("over_capacity_bytes", plan.bytes_over);
  visit.take("reason", plan.reason);
  visit.take("figures", plan.figures.values);
  if (plan.cost_error_pct()) visit.derived("cost_error_pct", [&] { return plan.cost_error_pct(); });
  visit.take("trained_on", plan.figures.trained_on);
  visit.take("rows_in_host_memory", plan.host_rows);
  torchrec_fields(visit, plan);
  visit.take("needs_options", plan.needs_options);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PlannerComparison> auto& comparison) {
  visit.field("case", comparison.name);
  visit.take("same_cases", comparison.also);
  visit.field("workload", comparison.workload);
  visit.field("cluster", comparison.cluster);
  visit.field("world_size", comparison.world_size);
  visit.field("judged_by", comparison.judged_by);
  visit.field("network", comparison.network);
  visit.derived("in_model", [&] { return comparison.in_model(); });
  visit.field("lower_bound_ms", comparison.lower_bound_ms);
  visit.take("lower_bound_lacks", comparison.lower_bound_lacks);
  visit.list("planners", comparison.planners, [&](auto& inner, auto& plan) { plan_fields(inner, plan, comparison); });
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PlannerTotal> auto& total) {
  visit.field("planner", total.planner);
  visit.field("cases", total.cases);
  visit.field("solved", total.solved);
  visit.field("won", total.won);
  visit.field("mean_iteration_ms", total.mean_iteration_ms);
  visit.field("mean_times_best", total.mean_times_best);
  visit.field("pairs", total.pairs);
  visit.field("mean_times_pair", total.mean_times_pair);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PlannerTotals> auto& totals) {
  visit.field("cases", totals.cases);
  visit.field("solved_by_all", totals.common);
  visit.field("paired_with", totals.best);
  visit.field("planners", totals.planners);
}

}  // namespace shardsim
