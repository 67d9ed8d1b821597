#include "plan/autoshard/cost_error.h"

#include <doctest/doctest.h>

#include "plan/autoshard/trainer.h"
#include "tests/plan/autoshard/test_tasks.h"

namespace shardsim::cost_error_test {

namespace {

PolicyTraining training_of(int updates) {
  PolicyTraining training;
  training.updates = updates;
  training.cost_batch = 64;
  return training;
}

CostError error_on(const ShardingPolicy& policy, const std::vector<ShardingTask>& tasks) {
  std::vector<const ShardingTask*> asked;
  for (const ShardingTask& task : tasks) asked.push_back(&task);
  return cost_error(policy, asked);
}

}  // namespace

TEST_CASE("predicted shards: an empty one takes none, and the order of ranks does not matter") {
  const auto tasks = made_up_tasks(2, 6, 3, 1);
  const ShardingPolicy policy = train_policy(tasks, training_of(1));
  const std::vector<double> one = predicted_seconds(policy, tasks[0], std::vector{0, 0, 1, 1, 1, 0});
  const std::vector<double> other = predicted_seconds(policy, tasks[0], std::vector{2, 2, 0, 0, 0, 2});
  REQUIRE(one.size() == 3);
  CHECK(one[2] == 0);
  CHECK(one[0] == other[2]);
  CHECK(one[1] == other[0]);
  CHECK(one[0] != one[1]);
}

TEST_CASE("a policy that was trained without a cost model predicts none") {
  const auto tasks = made_up_tasks(2, 6, 2, 1);
  PolicyTraining blind = training_of(1);
  blind.without = {kCostModelPart};
  CHECK(predicts_costs(train_policy(tasks, training_of(1))));
  CHECK_FALSE(predicts_costs(train_policy(tasks, blind)));
}

TEST_CASE("the error falls with training, and is larger where tables take what none of the training's did" *
          doctest::test_suite("long")) {
  const auto tasks = made_up_tasks(10, 16, 4, 1);
  const ShardingPolicy trained = train_policy(tasks, training_of(40));
  const CostError late = error_on(trained, tasks);
  CHECK(late.shards == kJudgedShards);
  CHECK(late.share < 0.5 * error_on(train_policy(tasks, training_of(1)), tasks).share);
  CHECK(late.share < 0.2);
  CHECK(late.square_ms2 >= late.absolute_ms * late.absolute_ms);
  auto slower = made_up_tasks(10, 16, 4, 1);
  for (ShardingTask& task : slower)
    task.label = [label = task.label](std::span<const int> rank_of) {
      std::vector<double> seconds = label(rank_of);
      for (double& value : seconds) value *= 2;
      return seconds;
    };
  CHECK(error_on(trained, slower).share > 0.3);
}

TEST_CASE("tasks of one rank cannot be asked about a part of their tables") {
  const auto tasks = made_up_tasks(2, 6, 2, 1);
  const ShardingPolicy policy = train_policy(tasks, training_of(1));
  CHECK(error_on(policy, made_up_tasks(2, 6, 1, 1)).shards == 0);
}

}  // namespace shardsim::cost_error_test
