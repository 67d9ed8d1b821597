#include "study/drift/later_plans.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/tree/json.h"
#include "plan/plan_file.h"
#include "study/confidence/interval.h"
#include "study/planning/prepared_case.h"

namespace shardsim {

bool searches(const Tree& planner) {
  const Tree* const name = planner.find("name");
  const std::string& own = name != nullptr ? name->scalar : planner.scalar;
  const Tree* const tables = own == "per_table" ? planner.find("tables") : nullptr;
  if (tables == nullptr) return own == "search";
  return std::ranges::any_of(tables->fields, [](const auto& part) { return searches(part.second); });
}

std::vector<Tree> planners_of_days(const Case& item, const DriftOptions& options) {
  if (!options.planners.empty() || !item.plan_file.empty()) return options.planners;
  return {item.planner};
}

std::vector<LaterPlan> later_plans(const std::vector<DayOutcome>& outcomes, const Case& item,
                                   const DriftOptions& options) {
  constexpr std::size_t kMostLater = 8;  // each is simulated
  std::vector<const DayOutcome*> found;
  for (const DayOutcome& each : outcomes)
    if (!each.new_plan.empty() && each.day.is_choice()) found.push_back(&each);
  const auto gain = [](const DayOutcome* each) { return each->day.frozen_ms / each->day.best_ms; };
  std::ranges::stable_sort(found, std::greater<>(), gain);
  std::vector<LaterPlan> later;
  const Cluster cluster = cluster_of(item);
  for (const DayOutcome* const each : found) {
    if (later.size() == kMostLater) break;
    const Workload workload = workload_on(item.workload, options, each->day.day);
    const Plan plan = plan_from_tree(parse_json(each->new_plan, "plan"), workload, cluster);
    Plan at_start = kept_plan(plan, workload, item.workload);
    if (std::ranges::find(later, at_start.placements, [](const LaterPlan& other) { return other.plan.placements; }) ==
        later.end())
      later.push_back({each->day.day, each->day.best, each->day.searched, std::move(at_start)});
  }
  return later;
}

bool is_within_spread(const DriftDay& start, const DayOutcome& outcome) {
  const DriftDay &day = outcome.day, &settled = outcome.settled;
  if (!day.searched || !day.is_choice() || start.gains_tellingly()) return false;
  const bool of_kept = settled.best == kKeptPlan || settled.best == kKeptCuts;
  const double kept_ms = of_kept ? settled.best_ms : day.frozen_ms;
  return day.day == 0 || kept_ms <= (1 + kSearchSpread) * day.best_ms;
}

}  // namespace shardsim
