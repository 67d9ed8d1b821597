#include "study/drift/resharding.h"

#include <algorithm>

#include "study/confidence/interval.h"

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
// for another reason.
double lost_to_age(const DriftResult& result, int days) {
  const double from_start = result.days.front().saved_s;
  double lost = on_day(result, days - 1).saved_s - days * from_start, before = 0;
  for (int day = 0; day < days; ++day) {
    const DriftDay& each = on_day(result, day);
    if (is_luck(result, each)) lost -= each.saved_s - before - from_start;
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
