#include "study/sweep/sweep_choices.h"

#include <algorithm>
#include <map>

#include "study/result/case_figures.h"
#include "study/sweep/point_cases.h"

namespace shardsim {
namespace {

// Returns what a millisecond of the iteration counts.
double weight_of(ComparedBy figure, const PointResult& result) {
  const double samples = static_cast<double>(result.world_size) * static_cast<double>(result.batch_per_gpu);
  switch (figure) {
    case ComparedBy::iteration:
      return 1;
    case ComparedBy::cost:
      return result.cost_per_hour.value_or(1) / samples;
    case ComparedBy::sample:
      break;
  }
  return 1 / samples;
}

// A time, and an interval of such.
struct Weighed {
  double ms = 0;
  Interval interval;
};

Weighed weighed(const PointResult& result, double weight) {
  Weighed time{result.iteration_ms * weight, *result.interval};
  for (UncertainPart& part : time.interval.parts) part.ms *= weight;
  return time;
}

bool can_be_chosen(const PointResult& result) {
  return result.is_usable() && result.interval;
}

using Coordinates = std::vector<std::size_t>;

// Points that differ in their plans alone, those of each group in order.
std::vector<std::vector<std::size_t>> groups_of_plans(const Sweep& sweep, std::size_t points) {
  const std::vector<bool> of_plans = plan_dimensions(sweep);
  std::vector<std::vector<std::size_t>> groups;
  if (std::ranges::find(of_plans, true) == of_plans.end()) return groups;
  std::map<Coordinates, std::size_t> known;
  for (std::size_t point = 0; point < points; ++point) {
    Coordinates at = sweep.coordinates(point);
    for (std::size_t d = 0; d < at.size(); ++d) at[d] = of_plans[d] ? 0 : at[d];
    const auto [entry, added] = known.try_emplace(std::move(at), groups.size());
    if (added) groups.emplace_back();
    groups[entry->second].push_back(point);
  }
  return groups;
}

}  // namespace

Difference difference_between(const PointResult& first, const PointResult& second) {
  return difference_in(ComparedBy::sample, first, second);
}

Difference difference_in(ComparedBy figure, const PointResult& first, const PointResult& second) {
  const Weighed a = weighed(first, weight_of(figure, first)), b = weighed(second, weight_of(figure, second));
  return difference_of(a.ms, a.interval, b.ms, b.interval);
}

std::optional<PointChoice> choice_among(const std::vector<PointResult>& results,
                                        const std::vector<std::size_t>& points) {
  std::vector<std::size_t> order;
  std::ranges::copy_if(points, std::back_inserter(order), [&](std::size_t p) { return can_be_chosen(results[p]); });
  if (order.size() < 2) return std::nullopt;
  // On average over where hot rows may lie.
  std::ranges::stable_sort(order, {}, [&](std::size_t p) {
    const PointResult& point = results[p];
    return order_key(point.interval->expected(1) / point.samples_per_s, point.interval->high_ms / point.iteration_ms,
                     point.peak_bytes);
  });
  PointChoice choice;
  choice.best = order[0];
  choice.runner_up = choice.loses_to = order[1];
  const PointResult& best = results[choice.best];
  choice.chance = difference_between(best, results[choice.runner_up]).first_is_faster();
  for (std::size_t i = 1; i < order.size(); ++i) {
    const double regret_pct = 100 * difference_between(best, results[order[i]]).expected_regret();
    if (regret_pct <= choice.regret_pct) continue;
    choice.regret_pct = regret_pct;
    choice.loses_to = order[i];
  }
  return choice;
}

std::vector<bool> plan_dimensions(const Sweep& sweep) {
  std::vector<bool> result;
  for (const SweepDimension& dimension : sweep.dimensions)
    result.push_back(std::ranges::all_of(dimension.axes, [](const Axis& axis) { return is_of_plan(axis.path); }));
  return result;
}

bool is_of_cluster(const Axis& axis) {
  return axis.path == "cluster" || axis.path.starts_with("cluster.");
}

bool differ_in_clusters_alone(const Sweep& sweep, std::size_t a, std::size_t b) {
  const auto at = sweep.coordinates(a), there = sweep.coordinates(b);
  for (std::size_t d = 0; d < at.size(); ++d)
    if (at[d] != there[d] && !std::ranges::all_of(sweep.dimensions[d].axes, is_of_cluster)) return false;
  return true;
}

PlanChoices plan_choices(const Sweep& sweep, const std::vector<PointResult>& results) {
  PlanChoices all;
  all.chance.resize(results.size());
  all.regret_pct.resize(results.size());
  for (const std::vector<std::size_t>& group : groups_of_plans(sweep, results.size())) {
    const std::optional<PointChoice> choice = choice_among(results, group);
    if (!choice) continue;
    all.choices.push_back(*choice);
    const PointResult& best = results[choice->best];
    for (const std::size_t point : group) {
      if (point == choice->best || !can_be_chosen(results[point])) continue;
      all.chance[point] = difference_between(best, results[point]).first_is_faster();
      all.regret_pct[point] = 100 * difference_between(results[point], best).expected_regret();
    }
    all.regret_pct[choice->best] = choice->regret_pct;
  }
  return all;
}

}  // namespace shardsim
