#pragma once

#include <optional>

#include "study/drift/drift_study.h"

namespace shardsim {

// The advice on when to make a new plan, as far as the days of a drift tell.
struct Resharding {
  // Days from one plan to the next with the least time lost per day: to plans that are old, and to moving and pausing.
  // A new plan is taken to age as that of day 0 did; what that one loses on day 0 already is not its age. None: within
  // the days it does not pay.
  std::optional<int> every_days;
  std::optional<int> out_of_memory_day;  // the first on which the plan of day 0 does not fit
  std::optional<int> no_plan_day;        // the first on which no plan fits
  bool better_from_start = false;        // whether another plan is tellingly faster on day 0 already
  int last_day = 0;                      // the last one on which the plan of day 0 fits

  int last_chance() const;  // the last day on which one can go to a new plan: that of memory, or the last of all
};

// `result` has its days' savings; `pause`: of the training, for each new plan.
Resharding resharding_of(const DriftResult& result, Seconds pause);

}  // namespace shardsim
