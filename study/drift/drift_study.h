#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/packed.h"
#include "base/workers.h"
#include "study/scenario/drift_options.h"
#include "topology/graph/cluster.h"

namespace shardsim {

inline constexpr const char *kKeptPlan = "kept plan", *kKeptCuts = "kept cuts";

// One day of a drifting world.
struct DriftDay {
  int day = 0;
  double frozen_ms = 0;                          // the plan of day 0
  double frozen_low_ms = 0, frozen_high_ms = 0;  // its interval (docs/confidence.md)
  std::int64_t frozen_bytes = 0;                 // of the fullest rank, as it is judged (MemoryNeed)
  bool frozen_fits = true;
  bool best_fits = false;  // whether any plan of that day fits in memory; what follows says nothing where none does
  double best_ms = 0;      // of the best of those that fit; the kept cuts with the day's own popularity may be one
  double best_low_ms = 0, best_high_ms = 0;
  // Where both fit, else 0, and say nothing where the best plan is the frozen one:
  double unlike = 0;             // share of the two iterations that waits for other kinds of work (Difference::unlike)
  double chance = 0;             // that the best plan is faster than the frozen one
  double regret_pct = 0;         // expected, of choosing the best plan, in % of an iteration of the frozen one
  double frozen_regret_pct = 0;  // the same of keeping the frozen one, in % of the best one's
  std::int64_t best_bytes = 0;
  std::string best;        // the planner, kKeptCuts, or kKeptPlan, the frozen one where no other one gains
  int made_on = 0;         // the day on which the best plan was made: of that of day 0 it may be a later one
  bool searched = false;   // whether a search made it, whose plans differ by search_spread() for no reason in the data
  double moved_bytes = 0;  // that change their holder, over all ranks
  double moving_s = 0;     // of an all-to-all of them
  // Share of an iteration by which the best plan is ahead of the kept one on the data of day 0 already: another plan
  // that is as good at any age, and no age of the kept one.
  double ahead_at_start = 0;
  double aged_s = 0;      // of training that the age of the kept plan costs on this day
  double saved_s = 0;     // by the best plans of this day and all before it on which both fit
  double cost_error = 0;  // of the monitored policy's cost model on the day's tables, as a share; 0 without a monitor
  std::vector<std::string> outside;  // as Interval::outside, for all plans of the day

  bool is_choice() const { return frozen_fits && best_fits; }
  bool has_better() const { return is_choice() && best != kKeptPlan; }
  bool has_new_plan() const { return best_fits && best != kKeptPlan; }
  // Whether the best plan is faster by more than 1 %, of which an answer tells where it is so on day 0 already.
  bool gains_tellingly() const { return best_ms < 0.99 * frozen_ms; }
  // Share of an iteration of the kept plan that its age costs.
  double aged_share() const { return has_better() ? std::max(0.0, 1 - best_ms / frozen_ms - ahead_at_start) : 0; }
  std::string best_name() const;  // with the day on which it was made, where that is another one
};

void fields(auto& visit, MaybeConst<DriftDay> auto& day) {
  visit.field("day", day.day);
  visit.field("frozen_ms", day.frozen_ms);
  visit.field("frozen_low_ms", day.frozen_low_ms);
  visit.field("frozen_high_ms", day.frozen_high_ms);
  visit.field("frozen_bytes", day.frozen_bytes);
  visit.field("frozen_fits", day.frozen_fits);
  visit.field("best_fits", day.best_fits);
  visit.field("best_ms", day.best_ms);
  visit.field("best_low_ms", day.best_low_ms);
  visit.field("best_high_ms", day.best_high_ms);
  visit.field("best_bytes", day.best_bytes);
  visit.field("best", day.best);
  visit.field("made_on", day.made_on);
  visit.field("searched", day.searched);
  visit.field("unlike", day.unlike);
  visit.field("chance", day.chance);
  visit.field("regret_pct", day.regret_pct);
  visit.field("frozen_regret_pct", day.frozen_regret_pct);
  visit.field("moved_bytes", day.moved_bytes);
  visit.field("moving_s", day.moving_s);
  visit.field("ahead_at_start", day.ahead_at_start);
  visit.field("aged_s", day.aged_s);
  visit.field("saved_s", day.saved_s);
  visit.field("cost_error", day.cost_error);
  visit.field("outside", day.outside);
}

struct DriftResult {
  std::string name;  // of the case
  std::vector<DriftDay> days;
  std::optional<int> break_even_day;  // none: within these days it never pays
  std::optional<int>
      train_again_day;     // the first on which the error of the monitored cost model is above the threshold
  double kept_s = 0;       // what the kept plan spends on the iterations of all days on which it fits
  std::size_t tables = 0;  // of the workload
};

// Parts of the case that were never measured, and for which the ranges of its days are no wider. Cluster and software
// are the same on every day.
inline std::vector<std::string> outside_of(const DriftResult& result) {
  return result.days.empty() ? std::vector<std::string>{} : result.days.front().outside;
}

// Errors: those of planning on day 0, and of workload_on() for the first day that has some; a case of jobs, of drawn
// batches or with a `runtime`; a monitored policy of another workload, tables that no policy places (Failure::input).
DriftResult drift_study(const Scenario& scenario, const Case& item, const DriftOptions& options,
                        const WorkerOptions& workers);

}  // namespace shardsim
