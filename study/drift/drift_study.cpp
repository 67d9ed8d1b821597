#include "study/drift/drift_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "base/statistics.h"
#include "base/text.h"
#include "plan/autoshard/cost_error.h"
#include "plan/check.h"
#include "plan/memory_model.h"
#include "plan/memory_need.h"
#include "plan/plan_file.h"
#include "sim/engine/network.h"
#include "sim/engine/op_work.h"
#include "sim/lower/draws/row_draws.h"
#include "sim/lower/known_shares.h"
#include "sim/memory/memory_profile.h"
#include "study/confidence/faster.h"
#include "study/confidence/iteration_judge.h"
#include "study/drift/drifted_workload.h"
#include "study/drift/resharding.h"
#include "study/planning/policy_study.h"
#include "study/planning/prepared_case.h"

namespace shardsim {
namespace {

constexpr double kSecondsPerDay = 86400;
constexpr double kLeastGain = 1e-4;  // of an iteration: less is no reason to move a row

struct DriftIteration {
  double ms = 0;
  Interval interval;
  MemoryNeed memory;
};

MemoryNeed memory_need(const PreparedCase& prepared, const Program& program, const Timeline& timeline) {
  const Workload& workload = prepared.item.workload;
  const MemoryModel& model = prepared.memory();
  return {std::ranges::max(memory_per_rank(prepared.plan, workload, prepared.cluster, model)),
          memory_profile(program, timeline, prepared.plan, workload).highest().bytes(), model.counts_buffers()};
}

double monitored_error(const Case& item, const DriftMonitor& monitor, std::uint64_t seed) {
  const PolicyCase asked(item, seed, PolicyCase::Asked::costs);
  const ShardingTask* const task = &asked.task();
  return cost_error(monitor.policy, {&task, 1}).share;
}

// The policy holds for the tables of day 0; what they become is what the monitor is there for.
void refuse_other_policy(const Case& item, const DriftMonitor& monitor, std::uint64_t seed) {
  const PolicyCase asked(item, seed, PolicyCase::Asked::costs);
  check_fits(monitor.policy, asked.task(), monitor.place);
  if (asked.task().ranks < 2)
    throw input_error(monitor.place, "a monitor in a case of one GPU: its tables make one shard",
                      "Leave 'monitor' out, or take more GPUs");
}

// Plans of one day and what becomes of them.
class DayRun {
 public:
  DayRun(const Scenario& scenario, const Case& item, const DriftOptions& options, const Plan& first,
         std::optional<int> row_draw, const IterationJudge& judge, const KeptShares& shares, int day)
      : scenario_(scenario),
        options_(options),
        judge_(judge),
        shares_(shares),
        row_draw_(row_draw),
        planners_(planners_of_days(item, options)),
        start_(item),
        first_(first),
        item_(item),
        shared_cluster_(std::make_shared<const Cluster>(cluster_of(item))),
        cluster_(*shared_cluster_) {
    result_.day = day;
    item_.workload = workload_on(item.workload, options, day);
    kept_ = kept_plan(first, item.workload, item_.workload);
    stays_ = std::pow(1 - options.rotation, day);
    if (day == 0 && options.planners.empty() && searches(item.planner)) planners_.clear();  // it has made the kept plan
  }

  // `later`: plans that are tried on this day, too.
  DayOutcome run(const std::vector<LaterPlan>& later) {
    Case frozen = item_, kept_cuts = item_;
    frozen.load.draw = kept_cuts.load.draw = row_draw_;
    for (std::size_t t = 0; stays_ < 1 && t < frozen.workload.tables.size(); ++t) {
      Table& table = frozen.workload.tables[t];
      if (fits_pattern(table.name, options_.tables)) rotate(table, tiers_of_table(static_cast<int>(t)), stays_);
    }
    frozen_ = simulated(frozen, kept_, frozen.workload.has_runtime());
    result_.frozen_ms = frozen_.ms;
    result_.frozen_low_ms = frozen_.interval.low_ms;
    result_.frozen_high_ms = frozen_.interval.high_ms;
    result_.outside = frozen_.interval.outside;
    result_.frozen_bytes = frozen_.memory.judged();
    result_.frozen_fits = has_room(frozen_);
    if (result_.frozen_fits) {
      const bool is_same = stays_ == 1 && !frozen.workload.has_runtime();  // no row has another popularity yet
      offer({kKeptCuts, kept_, is_same ? frozen_ : simulated(kept_cuts, kept_, false), result_.day, false, 0});
    }
    if (options_.monitor) result_.cost_error = monitored_error(item_, *options_.monitor, scenario_.seed);
    try_planners();
    for (const LaterPlan& each : later) try_later(each);
    DayOutcome outcome{closed(false), closed(true), ""};
    const bool is_new = outcome.day.has_new_plan() && outcome.day.best != kKeptCuts;
    if (is_new && result_.day > 0 && !item_.workload.sharding_groups)
      outcome.new_plan = plan_to_json(fastest(false)->plan, item_.workload, cluster_);
    return outcome;
  }

 private:
  // A plan for the day.
  struct Offer {
    std::string name;
    Plan plan;
    DriftIteration iteration;
    int made_on = 0;
    bool searched = false;
    double ahead_at_start = 0;  // as of DriftDay
  };

  std::vector<Placement> tiers_of_table(int table) const {
    std::vector<Placement> tiers;
    std::ranges::copy_if(kept_.placements, std::back_inserter(tiers),
                         [&](const Placement& each) { return each.table == table; });
    return tiers;
  }

  DriftIteration simulated(const Case& item, const Plan& plan, bool rotated) {
    const Scenario scenario;
    const PreparedCase prepared(scenario, item, shared_cluster_, plan, shares_.of(item.workload.tables));
    const Program program = rotated ? prepared.observed_program() : prepared.program();
    const SteadyIteration iteration = prepared.steady(program);
    const double ms = iteration.time.ms();
    const std::vector<PathTime> path = path_times(program, iteration.path);
    const auto moved = [&] { return share_moved_by_rows(program, path, ms); };
    DrawnSpread spread{0, &plan == &kept_ ? kept_placements(prepared, moved) : prepared.placement_log_times(moved)};
    if (!spread.placements.empty()) {  // days are summed and chosen as they are told, each in one placement
      const double middle = mean(spread.placements);
      for (double& placement : spread.placements) placement -= middle;
    }
    return {ms, judge_.wordless_interval(item, {ms, iteration.timeline, path, std::move(spread)}),
            memory_need(prepared, program, iteration.timeline)};
  }

  // Placements are simulated with expected accesses as they are planned for: the kept plan asks once, whether rows have
  // another popularity or not. In worlds where none is simulated, it depends on the time that is told.
  std::vector<double> kept_placements(const PreparedCase& prepared, const std::function<double()>& moved) {
    if (cluster_.world_size() > kMostTried) return prepared.placement_log_times(moved);
    if (!kept_placements_) kept_placements_ = prepared.placement_log_times(moved);
    return *kept_placements_;
  }

  bool has_room(const DriftIteration& iteration) const {
    return fits(iteration.memory, cluster_.memory_per_rank().count);
  }

  void offer(Offer offered) {
    if (has_room(offered.iteration)) offers_.push_back(std::move(offered));
  }

  void try_planners() {
    Case planned = item_;
    planned.plan_file.clear();
    for (const Tree& planner : planners_) {
      planned.planner = planner;
      const std::vector<Plan> known(result_.day > 0 ? 1 : 0, kept_);
      try {
        Plan plan = make_plan_from(known, planned, cluster_, scenario_.seed, {});
        DriftIteration iteration = simulated(planned, plan, false);
        const double ahead = iteration.ms < frozen_.ms ? ahead_at_start(plan) : 0;
        offer({planner.find("name")->scalar, std::move(plan), std::move(iteration), result_.day, searches(planner),
               ahead});
      } catch (const Error& error) {
        // A day on which it has no plan. What it takes on day 0 it may refuse later: a policy is of one batch.
        const bool later_refused = result_.day > 0 && error.failure() == Failure::input;
        if (error.failure() != Failure::infeasible && !later_refused) throw;
      }
    }
  }

  // Another try may have found the plan on day 0, too: a search by luck, another planner by its own estimate. A plan
  // that is not one of that day, because tables had not grown, is not ahead there.
  double ahead_at_start(const Plan& plan) {
    if (result_.day == 0) return 0;
    try {
      const Plan at_start = kept_plan(plan, item_.workload, start_.workload);
      check_plan(at_start, start_.workload, cluster_, start_.place);
      if (!kept_at_start_ms_) kept_at_start_ms_ = ms_at_start(first_, row_draw_);
      return std::max(0.0, 1 - ms_at_start(at_start, start_.load.draw) / *kept_at_start_ms_);
    } catch (const Error& error) {
      if (error.failure() != Failure::infeasible && error.failure() != Failure::input) throw;
      return 0;
    }
  }

  double ms_at_start(const Plan& plan, std::optional<int> row_draw) {
    Case item = start_;
    item.load.draw = row_draw;
    const Scenario scenario;
    const PreparedCase prepared(scenario, item, shared_cluster_, plan, shares_.of(item.workload.tables));
    return prepared.steady(prepared.program()).time.ms();
  }

  // With the rows of this day. Cuts that leave no rows behind them before a table has grown are none.
  void try_later(const LaterPlan& later) {
    try {
      check_plan(later.plan, item_.workload, cluster_, item_.place);
      offer({later.planner, later.plan, simulated(item_, later.plan, false), later.day, later.searched, 0});
    } catch (const Error& error) {
      if (error.failure() != Failure::infeasible && error.failure() != Failure::input) throw;
    }
  }

  // The time of a plan as days are compared: as it is, or `by_age`, without what it would have been ahead on day 0.
  double compared_ms(const Offer& each, bool by_age) const {
    return each.iteration.ms + (by_age ? each.ahead_at_start * frozen_.ms : 0);
  }

  // The fastest of those that fit is the best, in whatever order they come; null: none fits. On day 0 another try of a
  // search, or of a later day, is none of its own.
  const Offer* fastest(bool by_age) const {
    const Offer* best = nullptr;
    for (const Offer& each : offers_) {
      if (by_age && result_.day == 0 && (each.searched || each.made_on != 0)) continue;
      if (best == nullptr || compared_ms(each, by_age) < compared_ms(*best, by_age)) best = &each;
    }
    return best;
  }

  DriftDay closed(bool by_age) const {
    DriftDay day = result_;
    const Offer* best = fastest(by_age);
    const Offer kept{kKeptPlan, kept_, frozen_, result_.day, false, 0};
    const bool is_best = best == nullptr || frozen_.ms * (1 - kLeastGain) <= compared_ms(*best, by_age);
    if (day.frozen_fits && is_best) best = &kept;
    day.best_fits = best != nullptr;
    if (best == nullptr) return day;
    day.best = best->name;
    day.made_on = best->made_on;
    day.searched = best->searched;
    day.ahead_at_start = best->ahead_at_start;
    compare(day, best->iteration);
    day.best_bytes = best->iteration.memory.judged();
    if (day.best != kKeptPlan) price(day, best->plan);
    return day;
  }

  void compare(DriftDay& day, const DriftIteration& best) const {
    day.best_ms = best.ms;
    day.best_low_ms = best.interval.low_ms;
    day.best_high_ms = best.interval.high_ms;
    if (!day.frozen_fits) return;  // nobody can choose the kept plan
    const Difference anew = difference_of(best.ms, best.interval, frozen_.ms, frozen_.interval);
    day.unlike = anew.unlike;
    day.chance = anew.first_is_faster();
    day.regret_pct = 100 * anew.expected_regret();
    day.frozen_regret_pct = 100 * difference_of(frozen_.ms, frozen_.interval, best.ms, best.interval).expected_regret();
  }

  void price(DriftDay& day, const Plan& best) const {
    const MovedBytes moved = moved_bytes(kept_, best, item_.workload, stays_, cluster_.world_size());
    day.moved_bytes += moved.all();
    day.moving_s = moving_seconds(moved, cluster_);
  }

  const Scenario& scenario_;
  const DriftOptions& options_;
  const IterationJudge& judge_;
  KeptShares shares_;
  std::optional<std::vector<double>> kept_placements_;
  const std::optional<int> row_draw_;  // of the kept plan on all days: its rows stay where they were on day 0
  std::vector<Tree> planners_;
  const Case& start_;  // the case of day 0, with its plan
  const Plan& first_;
  std::optional<double> kept_at_start_ms_;  // where it was asked for
  Case item_;
  std::shared_ptr<const Cluster> shared_cluster_;
  const Cluster& cluster_;
  Plan kept_;
  double stays_ = 1;
  DriftIteration frozen_;
  std::vector<Offer> offers_;
  DriftDay result_;  // but for its best plan
};

void refuse_undriftable(const Case& item, const DriftOptions& options) {
  const auto refuse = [&](const std::string& wrong) {
    throw input_error(options.place, fmt::format("drift of case {}: {}", excerpt(item.name), wrong),
                      "Leave 'drift' out, or choose another case");
  };
  if (item.job) refuse("it is one of several jobs");
  if (item.load.drawn()) refuse("its batches are drawn");
  if (item.workload.has_runtime()) refuse("its tables state what was observed at run time");
  const auto drifts = [&](const Table& table) { return fits_pattern(table.name, options.tables); };
  if (std::ranges::any_of(item.workload.tables, drifts)) return;
  std::vector<std::string> names;
  for (const Table& table : item.workload.tables) names.push_back(table.name);
  throw input_error(options.place,
                    fmt::format("drift of case {}: no table fits {}", excerpt(item.name), excerpt(options.tables)),
                    "Change drift.tables. " + known_names_hint(options.tables, names));
}

void add_up(DriftResult& result, const DriftOptions& options) {
  const bool is_behind = result.days.front().gains_tellingly();  // from the start: then that is saved, too
  double saved = 0;
  for (DriftDay& day : result.days) {
    if (options.monitor && !result.train_again_day && day.cost_error > options.monitor->threshold)
      result.train_again_day = day.day;
    day.saved_s = saved;
    if (!day.is_choice()) continue;
    const double iterations = options.iterations_per_day ? static_cast<double>(*options.iterations_per_day)
                                                         : kSecondsPerDay / (day.frozen_ms * 1e-3);
    const double kept_s = iterations * day.frozen_ms * 1e-3;
    day.aged_s = kept_s * day.aged_share();
    day.saved_s = saved += is_behind ? kept_s - iterations * day.best_ms * 1e-3 : day.aged_s;
    result.kept_s += kept_s;
    if (!result.break_even_day && saved > day.moving_s + options.pause.value) result.break_even_day = day.day;
  }
}

}  // namespace

std::string DriftDay::best_name() const {
  return best_fits && made_on != day ? fmt::format("{} of day {}", best, made_on) : best;
}

DriftResult drift_study(const Scenario& scenario, const Case& item, const DriftOptions& options,
                        const WorkerOptions& workers) {
  refuse_undriftable(item, options);
  refuse_days_beyond_limits(item.workload, options);
  if (options.monitor) refuse_other_policy(item, *options.monitor, scenario.seed);
  const Plan first = make_plan(item, cluster_of(item), scenario.seed, {workers.interrupted, {}});
  KeptShares shares(KeptShares::Tried::kept);  // days of the same tables begin with what is known of their rows
  const auto cluster = std::make_shared<const Cluster>(cluster_of(item));
  const std::optional<int> row_draw =
      PreparedCase(scenario, item, cluster, first, shares.of(item.workload.tables)).row_draw();
  const IterationJudge judge;
  const auto run_days = [&](int from, int until, const std::vector<LaterPlan>& later) {
    std::vector<WorkerTask> tasks;
    for (int day = from; day <= until; ++day) {
      tasks.push_back({fmt::format("{}, day {}", item.name, day), [&, day] {
                         return done_in_case(item, [&] {
                           return packed(
                               DayRun(scenario, item, options, first, row_draw, judge, shares, day).run(later));
                         });
                       }});
    }
    std::vector<DayOutcome> outcomes;
    for (const std::string& bytes : run_in_workers(tasks, workers)) outcomes.push_back(unpacked<DayOutcome>(bytes));
    return outcomes;
  };
  // A plan that a planner finds on a later day may be as good on day 0: then it is luck, and no reason to move later.
  std::vector<DayOutcome> outcomes = run_days(1, options.days, {});
  outcomes.insert(outcomes.begin(), run_days(0, 0, later_plans(outcomes, item, options)).front());
  DriftResult result;
  result.name = item.name;
  result.tables = item.workload.tables.size();
  const DriftDay& start = outcomes.front().day;
  for (const DayOutcome& outcome : outcomes)
    result.days.push_back(start.gains_tellingly() ? outcome.day : outcome.settled);
  add_up(result, options);
  return result;
}

}  // namespace shardsim
