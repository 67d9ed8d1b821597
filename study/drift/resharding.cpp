#include "study/drift/resharding.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/tree/json.h"
#include "plan/plan_file.h"
#include "study/confidence/interval.h"
#include "study/planning/prepared_case.h"

namespace shardsim {
namespace {

const DriftDay& on_day(const DriftResult& result, int day) {
  return result.days[static_cast<std::size_t>(day)];
}

std::optional<int> first_day(const DriftResult& result, bool DriftDay::*is_so) {
  const auto day = std::ranges::find(result.days, false, is_so);
  return day == result.days.end() ? std::nullopt : std::optional(day->day);
}

// True when the best plan of the day is one of a search and no further ahead of the kept one than plans of searches are
// of each other. What the best plan of day 0 was ahead is no gain of a later day.
bool is_luck(const DriftResult& result, const DriftDay& day) {
  const DriftDay& first = result.days.front();
  const double start = first.has_better() ? first.frozen_ms / first.best_ms : 1;
  return day.searched && day.has_better() && day.frozen_ms <= start * (1 + kSearchSpread) * day.best_ms;
}

// Seconds that the first days lose to the age of the plan: what it loses on day 0, or to the luck of a search, it loses
// for another reason. The same cuts with the rows of the day are no other plan: all that they restore is age.
double lost_to_age(const DriftResult& result, int days) {
  const double from_start = result.days.front().saved_s;
  double lost = 0, before = 0;
  for (int day = 0; day < days; ++day) {
    const DriftDay& each = on_day(result, day);
    const double saved = each.saved_s - before;
    if (!is_luck(result, each)) lost += each.best == kKeptCuts ? saved : saved - from_start;
    before = each.saved_s;
  }
  return std::max(0.0, lost);
}

double cost_of_new_plan(const DriftResult& result, int day, Seconds pause) {
  return on_day(result, day).moving_s + pause.value;
}

// The first of these days on which there is another plan to go to. Where the kept one is the best nothing moves, so
// that a change would seem cheap, and is none; one that is better by luck is no reason to move.
std::optional<int> next_new_plan(const DriftResult& result, int from, int until) {
  for (int day = from; day <= until; ++day)
    if (on_day(result, day).has_new_plan() && !is_luck(result, on_day(result, day))) return day;
  return std::nullopt;
}

bool pays_by_age(const DriftResult& result, int last, Seconds pause) {
  for (auto day = next_new_plan(result, 1, last); day; day = next_new_plan(result, *day + 1, last)) {
    if (lost_to_age(result, *day + 1) > cost_of_new_plan(result, *day, pause)) return true;
  }
  return false;
}

// Only days on which there is another plan count.
std::optional<int> least_costly_interval(const DriftResult& result, int longest, Seconds pause) {
  const auto lost_per_day = [&](int days) {
    return (lost_to_age(result, days) + cost_of_new_plan(result, days, pause)) / days;
  };
  std::optional<int> best = next_new_plan(result, 1, longest);
  for (auto days = best; days; days = next_new_plan(result, *days + 1, longest)) {
    if (lost_per_day(*days) < lost_per_day(*best)) best = days;
  }
  return best;
}

}  // namespace

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

int Resharding::last_chance() const {
  return out_of_memory_day && out_of_memory_day != no_plan_day ? *out_of_memory_day : last_day;
}

Resharding resharding_of(const DriftResult& result, Seconds pause) {
  Resharding found;
  found.out_of_memory_day = first_day(result, &DriftDay::frozen_fits);
  found.no_plan_day = first_day(result, &DriftDay::best_fits);
  found.last_day = found.out_of_memory_day.value_or(static_cast<int>(result.days.size())) - 1;
  if (pays_by_age(result, found.last_day, pause))
    found.every_days = least_costly_interval(result, found.last_chance(), pause);
  found.better_from_start = result.days.front().gains_tellingly();
  return found;
}

}  // namespace shardsim
