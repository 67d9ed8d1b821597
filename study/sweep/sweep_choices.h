#pragma once

#include <optional>
#include <vector>

#include "study/confidence/faster.h"
#include "study/sweep/point_result.h"
#include "study/sweep/sweep.h"

namespace shardsim {

// Returns how sure it is which of two points is the faster one: in the time of a sample, for points may differ in batch
// and GPUs. Both have intervals.
Difference difference_between(const PointResult& first, const PointResult& second);

// The figures that two points may be compared by, less is better: the time of a sample, that of an iteration, or what a
// sample costs. Both have intervals, and for costs a price in one currency.
enum class ComparedBy { sample, iteration, cost };
Difference difference_in(ComparedBy figure, const PointResult& first, const PointResult& second);

// The fastest of some points, and what is lost where it is not.
struct PointChoice {
  std::size_t best = 0, runner_up = 0;  // points
  double chance = 0;                    // that the best is faster than the runner-up
  std::size_t loses_to = 0;             // the point against which choosing the best costs most
  double regret_pct = 0;                // expected, of choosing the best against that one, in % of its time
};

// Chooses among those of these points that have a result; nothing where fewer than two have one. Among equal ones the
// first is the best.
std::optional<PointChoice> choice_among(const std::vector<PointResult>& results,
                                        const std::vector<std::size_t>& points);

// The dimensions all of whose axes say how a plan is made, and not for which cluster or workload it is made.
std::vector<bool> plan_dimensions(const Sweep& sweep);

// True for an axis about the machine: the cluster, or a key of it.
bool is_of_cluster(const Axis& axis);
// True where two points have the same values on every axis about anything else.
bool differ_in_clusters_alone(const Sweep& sweep, std::size_t a, std::size_t b);

// The plans of a sweep that compares plans: a choice for each combination of values of its other dimensions, in the
// order of the first of their points; none where no dimension is of plans.
struct PlanChoices {
  std::vector<PointChoice> choices;
  // By point. Nothing where there is no choice.
  std::vector<std::optional<double>> chance;      // that the fastest plan is faster than this one; none of itself
  std::vector<std::optional<double>> regret_pct;  // of choosing this plan; the fastest's as PointChoice has it
};
PlanChoices plan_choices(const Sweep& sweep, const std::vector<PointResult>& results);

}  // namespace shardsim
