#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/drift/drift_study.h"

namespace shardsim {

// Bytes of rows and optimizer state that each rank gets by going from one plan to another, when a share `stays` of the
// rows is as popular as when the first was made and the others have any popularity; as few as can be, for owners within
// a tier are free to choose.
struct MovedBytes {
  std::vector<double> to;                  // [destination]
  std::vector<std::vector<double>> pairs;  // [source][destination]; empty in worlds of more than 256 ranks
  double all() const;
};
MovedBytes moved_bytes(const Plan& from, const Plan& to, const Workload& workload, double stays, int ranks);
// The time that an all-to-all of them takes.
double moving_seconds(const MovedBytes& moved, const Cluster& cluster);

// Whether the planner is a search, or asks one for some of the tables.
bool searches(const Tree& planner);

// The planners that are asked for a plan of every day; none where the plan of the case is that of a file.
std::vector<Tree> planners_of_days(const Case& item, const DriftOptions& options);

// The outcome of one day: the day with its fastest plan; with the one that is fastest without what each is ahead of the
// kept plan on day 0 already; and the plan that a planner made for it, as its file.
struct DayOutcome {
  DriftDay day, settled;
  std::string new_plan;  // "" none
};

void fields(auto& visit, MaybeConst<DayOutcome> auto& outcome) {
  visit(outcome.day, outcome.settled, outcome.new_plan);
}

// A plan that a planner has made for a later day.
struct LaterPlan {
  int day = 0;
  std::string planner;
  bool searched = false;
  Plan plan;
};

// The plans of later days that gain most over the kept one, as they would have been made on day 0. What a planner finds
// on a later day may be as good there: then it is luck, and no reason to move later.
std::vector<LaterPlan> later_plans(const std::vector<DayOutcome>& outcomes, const Case& item,
                                   const DriftOptions& options);

// Seconds of training that re-sharding every so many days loses from one plan to the next.
struct PeriodLoss {
  double aging_s = 0;     // to the age of the plan, over all days of the period
  double changing_s = 0;  // to moving and pausing, once
  double all() const { return aging_s + changing_s; }
};

// Where a new plan replaces the kept one on day `days`, from 1 on. None: on that day there is no plan to go to.
std::optional<PeriodLoss> loss_of_period(const DriftResult& result, int days, Seconds pause);

// The advice on when to make a new plan, as far as the days of a drift tell.
struct Resharding {
  // Days from one plan to the next with the least time lost per day: to plans that are old, and to moving and pausing.
  // A new plan is taken to age as that of day 0 did; what that one loses on day 0 already is not its age. Only days
  // count on which that age costs more than noise: of plans of a search search_spread(), of others the variation of one
  // run (kRepeatScale), with a chance above that of a coin toss. None: within the days it does not pay.
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
