#include "study/sweep/sweep_choices.h"

#include <doctest/doctest.h>

#include <cmath>

namespace shardsim::sweep_choices_test {

namespace {

// An iteration on 8 GPUs of exchanges and of lookups, ms, of whose errors both parts have their share.
PointResult point_of(double exchange_ms, double lookup_ms, std::int64_t batch = 64) {
  PointResult result;
  result.world_size = 8;
  result.batch_per_gpu = batch;
  result.iteration_ms = exchange_ms + lookup_ms;
  result.samples_per_s = 8 * static_cast<double>(batch) / (result.iteration_ms * 1e-3);
  Interval interval;
  interval.setting.software = "none";
  interval.setting.cluster = "toy";
  interval.rest_scale = 0.1;
  interval.parts = {{"collective/rdma", exchange_ms, 0.3, false}, {"kernel/lookup", lookup_ms, 0.2, false}};
  result.interval = interval;
  return result;
}

Axis axis_of(const std::string& path, std::size_t values) {
  Axis axis{path, {}, {}};
  for (std::size_t i = 0; i < values; ++i) axis.values.push_back({text_tree(std::to_string(i)), "v", {}});
  return axis;
}

Sweep sweep_over(std::vector<Axis> axes) {
  Sweep sweep;
  sweep.product = 1;
  for (Axis& axis : axes) {
    sweep.product *= axis.values.size();
    sweep.dimensions.push_back({{std::move(axis)}});
  }
  for (std::uint32_t point = 0; point < sweep.product; ++point) sweep.points.push_back(point);
  return sweep;
}

}  // namespace

TEST_CASE("of two alike nobody knows which is faster, and a choice between them costs nothing") {
  const Difference none = difference_between(point_of(4, 2), point_of(4, 2));
  CHECK(none.first_is_faster() == 0.5);
  CHECK(none.expected_regret() == 0);
}

TEST_CASE("a larger batch that takes as much longer is as fast") {
  const Difference none = difference_between(point_of(4, 2, 64), point_of(8, 4, 128));
  CHECK(none.log_ratio == doctest::Approx(0));
  CHECK(none.first_is_faster() == doctest::Approx(0.5));
}

TEST_CASE("in one cluster and at one batch the difference is that of the iterations") {
  const PointResult fast = point_of(4, 2), slow = point_of(7, 2);
  const Difference by_sample = difference_between(fast, slow);
  const Difference by_iteration = difference_of(fast.iteration_ms, *fast.interval, slow.iteration_ms, *slow.interval);
  CHECK(by_sample.log_ratio == doctest::Approx(by_iteration.log_ratio));
  CHECK(by_sample.scale == doctest::Approx(by_iteration.scale));
}

TEST_CASE("the choice is the fastest, compared with the next one, and its regret is the largest against any") {
  // The third spends its time on lookups instead: less is shared, and choosing the first may cost more there.
  std::vector<PointResult> results = {point_of(4, 2), point_of(4.5, 2), point_of(1, 6), point_of(1, 1)};
  results[3].outcome = PointResult::Outcome::failed;
  const auto choice = choice_among(results, {0, 1, 2, 3});
  REQUIRE(choice);
  CHECK(choice->best == 0);
  CHECK(choice->runner_up == 1);
  CHECK(choice->chance == difference_between(results[0], results[1]).first_is_faster());
  CHECK(choice->chance > 0.5);
  CHECK(choice->regret_pct == 100 * difference_between(results[0], results[2]).expected_regret());
  CHECK(choice->regret_pct > 100 * difference_between(results[0], results[1]).expected_regret());
  CHECK_FALSE(choice_among(results, {0, 3}));
}

TEST_CASE("plans are compared where all else is the same, and worlds are not") {
  const Sweep sweep = sweep_over({axis_of("cluster.nodes", 2), axis_of("planner", 2)});
  CHECK(plan_dimensions(sweep) == std::vector<bool>{false, true});
  const std::vector<PointResult> results = {point_of(4, 2), point_of(5, 2), point_of(3, 2), point_of(2, 2)};
  const PlanChoices plans = plan_choices(sweep, results);
  REQUIRE(plans.choices.size() == 2);
  CHECK(plans.choices[0].best == 0);
  CHECK(plans.choices[1].best == 3);
  CHECK_FALSE(plans.chance[0]);
  CHECK(plans.chance[1] == plans.choices[0].chance);
  CHECK(plans.regret_pct[0] == plans.choices[0].regret_pct);
  CHECK(*plans.regret_pct[1] > 100 * (std::log(7.0 / 6) - 1e-9));  // at least what it is slower by
  const Sweep worlds = sweep_over({axis_of("cluster.nodes", 4)});
  CHECK(plan_choices(worlds, results).choices.empty());
  CHECK_FALSE(plan_choices(worlds, results).regret_pct[0]);
}

}  // namespace shardsim::sweep_choices_test
