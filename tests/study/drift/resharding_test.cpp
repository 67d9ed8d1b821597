#include "study/drift/resharding.h"

#include <doctest/doctest.h>

#include <tuple>

#include "plan/plan_file.h"
#include "study/confidence/interval.h"
#include "study/drift/drifted_workload.h"
#include "study/planning/prepared_case.h"
#include "study/report/documents/drift_document.h"
#include "tests/base/error_text.h"
#include "tests/study/scenario_text.h"

namespace shardsim::resharding_test {

namespace {

// Day t loses t seconds to the age of its plan, and moving takes nothing.
DriftResult aging(int days) {
  DriftResult result;
  for (int t = 0; t <= days; ++t) {
    DriftDay day;
    day.day = t;
    day.best_fits = true;
    day.best = "torchrec";
    day.chance = 0.9;
    day.frozen_ms = 10;
    day.best_ms = t == 0 ? 10 : 9;
    day.aged_s = t;
    day.saved_s = t == 0 ? 0 : result.days.back().saved_s + t;
    day.moved_bytes = 0x1p30;
    result.days.push_back(day);
  }
  result.kept_s = 86'400.0 * days;
  return result;
}

DriftResult full_from(DriftResult result, std::size_t day, bool any_plan) {
  for (std::size_t t = day; t < result.days.size(); ++t) {
    result.days[t].frozen_fits = false;
    result.days[t].best_fits = any_plan;
    result.days[t].saved_s = result.days[day - 1].saved_s;
  }
  return result;
}

DriftOptions pause_of(double seconds, int days) {
  DriftOptions options;
  options.days = days;
  options.pause = Seconds{seconds};
  return options;
}

}  // namespace

// N days lose N (N - 1) / 2 + P seconds: least per day at N = sqrt(2 P).
TEST_CASE("the interval loses least per day to old plans and to making new ones") {
  const DriftResult result = aging(30);
  for (const auto& [pause, days] : {std::pair{50.0, 10}, {200.0, 20}, {0.1, 1}})
    CHECK(resharding_of(result, Seconds{pause}).every_days == days);
  CHECK_FALSE(resharding_of(result, Seconds{1e9}).every_days.has_value());
}

// Nothing moves on a day on which the kept plan is the best one, so that it would look like the cheapest day of all.
TEST_CASE("no day is one to re-shard on whose best plan is the kept one") {
  DriftResult result = aging(30);
  result.days[10].best = kKeptPlan;
  const std::optional<int> every = resharding_of(result, Seconds{50}).every_days;
  CHECK((every == 9 || every == 11));
  for (DriftDay& day : result.days) day.best = kKeptPlan;
  CHECK_FALSE(resharding_of(result, Seconds{50}).every_days.has_value());
}

TEST_CASE("memory is a last day, whether or not re-sharding pays before it") {
  const DriftResult result = full_from(aging(30), 7, true);
  CHECK(resharding_of(result, Seconds{50}).out_of_memory_day == 7);
  CHECK(resharding_of(result, Seconds{50}).last_chance() == 7);
  CHECK(has(resharding_text(result, pause_of(80, 30)),
            "Re-shard on day 7 at the latest, because of memory: the plan of day 0 no longer fits then. Before that "
            "day it does not pay off. Moving 1.00 GiB on day 7 takes"));
  CHECK(has(resharding_text(result, pause_of(8, 30)),
            "Re-shard every 4 days; on day 7 at the latest, when the plan of day 0 no longer fits in memory. Moving "
            "1.00 GiB on day 4 takes 0 ms, and training pauses for another 8 s: 0.0023 % of the time, beside what the "
            "plan loses with its age. "
            "Keeping the plan until day 6 would"));
}

TEST_CASE("where the plan that memory forces moves more than others, its cost is told, too") {
  DriftResult result = full_from(aging(30), 7, true);
  result.days[7].moved_bytes = 40 * 0x1p30;
  result.days[7].moving_s = 2.5;
  CHECK(has(resharding_text(result, pause_of(8, 30)),
            "0.0023 % of the time, beside what the plan loses with its age. The plan of day 7 moves 40.00 GiB, in "
            "2.5 s. Keeping the plan until day 6 would"));
  CHECK(has(resharding_text(result, pause_of(80, 30)), "Moving 40.00 GiB on day 7 takes 2.5 s"));
  CHECK_FALSE(has(resharding_text(result, pause_of(80, 30)), "The plan of day 7"));
}

TEST_CASE("where no plan fits any more, no re-sharding is advised for that day") {
  const DriftResult result = full_from(aging(30), 7, false);
  CHECK(resharding_of(result, Seconds{50}).no_plan_day == 7);
  CHECK(resharding_of(result, Seconds{50}).last_chance() == 6);
  CHECK(has(resharding_text(result, pause_of(50, 30)),
            "From day 7 on neither the plan of day 0 nor a new one of the planners fits in memory"));
}

// 10 s a day from day 0 on are lost to the choice of the plan, and no more with its age.
TEST_CASE("a plan that is slower from the start is to be replaced once, not every few days") {
  DriftResult result = aging(30);
  for (DriftDay& day : result.days) {
    day.saved_s = 10 * (day.day + 1);
    day.aged_s = 0;
    day.ahead_at_start = 0.1;
  }
  result.days[0].frozen_ms = 6;
  result.days[0].best_ms = 1;
  CHECK_FALSE(resharding_of(result, Seconds{20}).every_days.has_value());
  CHECK(resharding_of(result, Seconds{20}).better_from_start);
  CHECK(has(
      resharding_text(result, pause_of(20, 30)),
      "Change to another plan once: on day 0 that of torchrec takes 1.000 ms, and the kept one 6.000 ms, which makes "
      "up for the pause in 4 s. After that, within 30 days"));
}

// Another plan is faster by a second on day 0, and none of later days is: kept cuts restore what each day has lost.
TEST_CASE("what the kept cuts restore is age, whatever another plan gains on day 0") {
  DriftResult result = aging(30);
  for (DriftDay& day : result.days) day.saved_s += 1;
  for (std::size_t t = 1; t < result.days.size(); ++t) result.days[t].best = kKeptCuts;
  CHECK(resharding_of(result, Seconds{50}).every_days == 10);
}

// Day 0 has the plan that a search made, and each later day has one that is faster by `gain`, of which `luck` would
// have been there on day 0.
static DriftResult searched(int days, double gain, double luck) {
  DriftResult result;
  for (int t = 0; t <= days; ++t) {
    DriftDay day;
    day.day = day.made_on = t;
    day.best_fits = day.searched = true;
    day.best = "search";
    day.chance = 0.9;
    day.frozen_ms = 10 + t;
    day.best_ms = t == 0 ? day.frozen_ms : day.frozen_ms / (1 + gain);
    day.ahead_at_start = t == 0 ? 0 : 1 - 1 / (1 + luck);
    day.aged_s = 86'400 * day.aged_share();
    day.saved_s = t == 0 ? 0 : result.days.back().saved_s + day.aged_s;
    result.days.push_back(day);
  }
  result.days[0].best = kKeptPlan;
  result.days[0].searched = false;
  result.kept_s = 86'400.0 * days;
  return result;
}

TEST_CASE("what searches differ by on the same data is no reason to move") {
  CHECK_FALSE(resharding_of(searched(20, 0.97 * search_spread(0), 0), Seconds{60}).every_days.has_value());
  CHECK(resharding_of(searched(20, 1.3 * search_spread(0), 0), Seconds{60}).every_days.has_value());
}

TEST_CASE("what a later plan gains on the data of day 0 already is luck, however much it is, and the rest is age") {
  const DriftResult lucky = searched(20, 0.2, 0.2), half = searched(20, 0.2, 0.1);
  CHECK_FALSE(resharding_of(lucky, Seconds{60}).every_days.has_value());
  CHECK(lucky.days[5].aged_share() == 0);
  CHECK(resharding_of(half, Seconds{60}).every_days.has_value());
  CHECK(half.days[5].aged_share() == doctest::Approx(1 / 1.1 - 1 / 1.2));
}

TEST_CASE("a chance of a coin toss, and a lead smaller than how runs vary, are no reason to move") {
  for (const auto& [chance, best_ms, moves] :
       {std::tuple{0.503, 9.0, false}, {0.9, 9.98, false}, {0.9, 9.0, true}, {0.56, 9.0, true}}) {
    CAPTURE(chance);
    CAPTURE(best_ms);
    DriftResult result = aging(30);
    for (DriftDay& day : result.days) {
      day.chance = chance;
      if (day.day > 0) day.best_ms = best_ms;
    }
    CHECK(resharding_of(result, Seconds{50}).every_days.has_value() == moves);
  }
}

TEST_CASE("what a period loses is told, and is the sum of the days' age, moving and pausing") {
  DriftResult result = aging(30);
  for (DriftDay& day : result.days) day.moving_s = 5;
  for (const int days : {1, 7, 30}) {
    CAPTURE(days);
    const std::optional<PeriodLoss> lost = loss_of_period(result, days, Seconds{45});
    REQUIRE(lost.has_value());
    CHECK(lost->aging_s == days * (days - 1) / 2);
    CHECK(lost->changing_s == 50);
  }
  CHECK(has(resharding_text(result, pause_of(45, 30)),
            " A period of 10 days loses 95 s in all, 9.5 s a day: 45 s to the age of the plan, 50 s to moving and "
            "pausing."));
  result.days[7].best = kKeptPlan;
  CHECK_FALSE(loss_of_period(result, 7, Seconds{45}).has_value());
  CHECK_FALSE(loss_of_period(result, 0, Seconds{45}).has_value());
}

TEST_CASE("a plan of a later day that is faster on day 0, too, is one to begin with, and no reason to move later") {
  DriftResult result = searched(20, 0.05, 0.05);
  DriftDay& first = result.days[0];
  first.best = "search";
  first.searched = true;
  first.made_on = 2;
  first.best_ms = first.frozen_ms / 1.05;
  CHECK_FALSE(resharding_of(result, Seconds{60}).every_days.has_value());
  CHECK(
      has(resharding_text(result, pause_of(60, 20)),
          "Begin with another plan: on day 0 already that which search makes on day 2 takes 9.524 ms, and the kept one "
          "10.000 ms"));
  CHECK(first.best_name() == "search of day 2");
  CHECK(result.days[3].best_name() == "search");
}

// TorchRec's planner goes by its own estimate: what it makes of tables that have grown may be as good on day 0.
TEST_CASE("a plan that any planner makes for a later day is tried on day 0, each once") {
  const Scenario scenario = test::read(R"(schema: shardsim.scenario/1
cluster: dgx_h100
planner: {name: row_wise}
workload:
  name: w
  batch_per_gpu: 64
  tables: [{name: t, rows: 100000, dim: 64, kind: pooled, pooling_factor: 2}]
)");
  const Case& item = scenario.cases.front();
  const Cluster cluster = cluster_of(item);
  DriftOptions options = pause_of(60, 3);
  options.growth = 0.02;
  std::vector<DayOutcome> outcomes;
  for (int t = 1; t <= 3; ++t) {
    DayOutcome outcome;
    outcome.day.day = t;
    outcome.day.best_fits = true;
    outcome.day.best = "torchrec";
    outcome.day.frozen_ms = 10 + t;
    outcome.day.best_ms = 10;
    Case grown = item;
    grown.workload = workload_on(item.workload, options, t);
    outcome.new_plan = plan_to_json(make_plan(grown, cluster, 1, {}), grown.workload, cluster);
    outcomes.push_back(outcome);
  }
  const std::vector<LaterPlan> later = later_plans(outcomes, item, options);
  REQUIRE(later.size() == 1);
  CHECK(later[0].day == 3);  // which gains most
  CHECK(later[0].planner == "torchrec");
  CHECK_FALSE(later[0].searched);
  CHECK(later[0].plan.placements == make_plan(item, cluster, 1, {}).placements);
  for (DayOutcome& each : outcomes) each.new_plan = "";
  CHECK(later_plans(outcomes, item, options).empty());
}

TEST_CASE("where nothing moves no time of moving is told") {
  DriftResult result = aging(30);
  for (DriftDay& day : result.days) day.moved_bytes = 0;
  CHECK(has(resharding_text(result, pause_of(20, 30)), "nothing moves, and training pauses for another 20 s"));
}

TEST_CASE("a plan that fits for all days and never pays to replace is said to be good for all of them") {
  const std::string text = resharding_text(aging(3), pause_of(1e9, 3));
  CHECK(has(text, "Within 3 days re-sharding does not pay off"));
  CHECK(has(text, "the plan of day 0 fits on all these days"));
  CHECK_FALSE(has(text, "Keeping the plan"));
}

TEST_CASE("a chance that falls although the gap grows is explained by what the two plans wait for") {
  DriftResult result = aging(3);
  for (DriftDay& day : result.days) {
    day.best_ms = 10;
    day.frozen_ms = 10 + 0.1 * day.day;
    day.unlike = 0.04;
  }
  CHECK_FALSE(has(resharding_text(result, pause_of(50, 3)), "the chance falls"));
  result.days[2].chance = result.days[3].chance = 0.654;
  result.days[2].unlike = result.days[3].unlike = 0.52;
  CHECK(has(resharding_text(result, pause_of(50, 3)),
            "On day 2 the chance falls from 90.0 to 65.4 %, although the gap grows: the slowest path through the kept "
            "plan leads over other kinds of work than that through the best plan from then on (52 % of an iteration, 4 "
            "% the day before)"));
}

}  // namespace shardsim::resharding_test
