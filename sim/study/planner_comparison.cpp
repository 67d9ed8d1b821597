#include "sim/study/planner_comparison.h"

#include <algorithm>
#include <cmath>

namespace shardsim {
namespace {

constexpr double kTie = 1e-9;  // relative: equal plans give equal times but for rounding

bool solved_by(const PlannerComparison& comparison, const std::string& planner) {
  const auto found = std::ranges::find(comparison.planners, planner, &ComparedPlan::planner);
  return found != comparison.planners.end() && found->iteration_ms.has_value();
}

// Whether all planners that solve anything solve this one.
bool is_common(const PlannerComparison& comparison, const std::vector<PlannerTotal>& planners) {
  return std::ranges::all_of(
      planners, [&](const PlannerTotal& total) { return total.solved == 0 || solved_by(comparison, total.planner); });
}

void count(PlannerTotal& total, const PlannerComparison& comparison) {
  const auto plan = std::ranges::find(comparison.planners, total.planner, &ComparedPlan::planner);
  if (plan == comparison.planners.end()) return;
  ++total.cases;
  if (!plan->iteration_ms) return;
  ++total.solved;
  if (*plan->iteration_ms <= *comparison.best_ms() * (1 + kTie)) ++total.won;
}

void take_means(PlannerTotal& total, const std::vector<const PlannerComparison*>& common) {
  if (total.solved == 0 || common.empty()) return;
  double sum = 0, logarithms = 0;
  for (const PlannerComparison* comparison : common) {
    const double ms = *std::ranges::find(comparison->planners, total.planner, &ComparedPlan::planner)->iteration_ms;
    sum += ms;
    logarithms += std::log(ms / *comparison->best_ms());
  }
  total.mean_iteration_ms = sum / static_cast<double>(common.size());
  total.mean_times_best = std::exp(logarithms / static_cast<double>(common.size()));
}

}  // namespace

std::optional<double> ComparedPlan::cost_error_pct() const {
  const auto cost = figures.values.find("cost_ms");
  if (cost == figures.values.end() || !iteration_ms) return std::nullopt;
  return 100 * (cost->second - *iteration_ms) / *iteration_ms;
}

std::optional<double> PlannerComparison::best_ms() const {
  std::optional<double> best;
  for (const ComparedPlan& plan : planners) {
    if (plan.iteration_ms && (!best || *plan.iteration_ms < *best)) best = plan.iteration_ms;
  }
  return best;
}

bool PlannerComparison::in_model() const {
  return std::ranges::any_of(planners, [this](const ComparedPlan& plan) { return in_model(plan); });
}

PlannerTotals totals_of(const std::vector<PlannerComparison>& comparisons) {
  PlannerTotals totals;
  totals.cases = static_cast<int>(comparisons.size());
  for (const PlannerComparison& comparison : comparisons) {
    for (const ComparedPlan& plan : comparison.planners) {
      const auto known = std::ranges::find(totals.planners, plan.planner, &PlannerTotal::planner);
      if (known == totals.planners.end()) totals.planners.push_back({plan.planner, 0, 0, 0, {}, {}});
    }
  }
  std::vector<const PlannerComparison*> common;
  for (PlannerTotal& total : totals.planners) {
    for (const PlannerComparison& comparison : comparisons) count(total, comparison);
  }
  for (const PlannerComparison& comparison : comparisons) {
    if (comparison.best_ms() && is_common(comparison, totals.planners)) common.push_back(&comparison);
  }
  totals.common = static_cast<int>(common.size());
  for (PlannerTotal& total : totals.planners) take_means(total, common);
  return totals;
}

}  // namespace shardsim
