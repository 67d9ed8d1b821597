#include "study/planning/planner_comparison.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/judgement/pair.h"

namespace shardsim {
namespace {

constexpr double kTie = 1e-9;  // relative: equal plans give equal times but for rounding

std::optional<double> iteration_of(const PlannerComparison& comparison, const std::string& planner) {
  const auto found = std::ranges::find(comparison.planners, planner, &ComparedPlan::planner);
  return found == comparison.planners.end() ? std::nullopt : found->fitting_ms();
}

// True when all planners that solve anything solve this one.
bool is_common(const PlannerComparison& comparison, const std::vector<PlannerTotal>& planners) {
  return std::ranges::all_of(planners, [&](const PlannerTotal& total) {
    return total.solved == 0 || iteration_of(comparison, total.planner);
  });
}

void count(PlannerTotal& total, const PlannerComparison& comparison) {
  const auto plan = std::ranges::find(comparison.planners, total.planner, &ComparedPlan::planner);
  if (plan == comparison.planners.end()) return;
  ++total.cases;
  if (!plan->fitting_ms()) return;
  ++total.solved;
  if (*plan->iteration_ms <= *comparison.best_ms() * (1 + kTie)) ++total.won;
}

void take_means(PlannerTotal& total, const std::vector<const PlannerComparison*>& common) {
  if (total.solved == 0 || common.empty()) return;
  double sum = 0, logarithms = 0;
  for (const PlannerComparison* comparison : common) {
    const double ms = *iteration_of(*comparison, total.planner);
    sum += ms;
    logarithms += std::log(ms / *comparison->best_ms());
  }
  total.mean_iteration_ms = sum / static_cast<double>(common.size());
  total.mean_times_best = std::exp(logarithms / static_cast<double>(common.size()));
}

// Geometric mean of its iterations over the shortest of their cases, over all cases that it solves.
double mean_of_solved(const PlannerTotal& total, const std::vector<PlannerComparison>& comparisons) {
  double logarithms = 0;
  for (const PlannerComparison& comparison : comparisons) {
    if (const auto ms = iteration_of(comparison, total.planner)) logarithms += std::log(*ms / *comparison.best_ms());
  }
  return total.solved == 0 ? 1e300 : std::exp(logarithms / total.solved);
}

std::string best_of(const std::vector<PlannerTotal>& planners, const std::vector<PlannerComparison>& comparisons) {
  const auto best = std::ranges::min_element(planners, {}, [&](const PlannerTotal& total) {
    return std::tuple(-total.won, -total.solved, mean_of_solved(total, comparisons));
  });
  return best == planners.end() || best->solved == 0 ? "" : best->planner;
}

void pair_with(const std::string& best, PlannerTotal& total, const std::vector<PlannerComparison>& comparisons) {
  double logarithms = 0;
  for (const PlannerComparison& comparison : comparisons) {
    const auto least = iteration_of(comparison, best), ms = iteration_of(comparison, total.planner);
    if (!least || !ms) continue;
    ++total.pairs;
    logarithms += std::log(*ms / *least);
  }
  if (total.pairs > 0) total.mean_times_pair = std::exp(logarithms / total.pairs);
}

}  // namespace

std::optional<double> ComparedPlan::cost_error_pct() const {
  const auto cost = figures.values.find("cost_ms");
  if (cost == figures.values.end() || !iteration_ms) return std::nullopt;
  return percent_off(cost->second, *iteration_ms);
}

std::optional<double> PlannerComparison::best_ms() const {
  std::optional<double> best, any;
  for (const ComparedPlan& plan : planners) {
    if (!plan.iteration_ms) continue;
    std::optional<double>& least = plan.bytes_over ? any : best;
    least = std::min(least.value_or(*plan.iteration_ms), *plan.iteration_ms);
  }
  return best ? best : any;
}

std::optional<double> PlannerComparison::times_bound(const ComparedPlan& plan) const {
  if (!plan.iteration_ms || !lower_bound_ms || plan.host_rows) return std::nullopt;
  return *plan.iteration_ms / *lower_bound_ms;
}

std::vector<std::string> PlannerComparison::without_options() const {
  std::vector<std::string> names;
  for (const ComparedPlan& plan : planners)
    if (plan.needs_options) names.push_back(plan.planner);
  return names;
}

bool PlannerComparison::in_model() const {
  return std::ranges::any_of(planners, [this](const ComparedPlan& plan) { return in_model(plan); });
}

PlannerTotals totals_of(const std::vector<PlannerComparison>& comparisons) {
  PlannerTotals totals;
  totals.cases = static_cast<int>(comparisons.size());
  for (const PlannerComparison& comparison : comparisons) {
    for (const ComparedPlan& plan : comparison.planners) {
      if (plan.needs_options) continue;
      const auto known = std::ranges::find(totals.planners, plan.planner, &PlannerTotal::planner);
      if (known == totals.planners.end()) totals.planners.push_back({plan.planner});
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
  totals.best = best_of(totals.planners, comparisons);
  for (PlannerTotal& total : totals.planners) pair_with(totals.best, total, comparisons);
  return totals;
}

}  // namespace shardsim
