#include "plan/autoshard/trainer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "tests/base/error_text.h"
#include "tests/plan/autoshard/test_tasks.h"

namespace shardsim::trainer_test {

namespace {

PolicyTraining short_training(int updates, std::uint64_t seed = 1) {
  PolicyTraining training;
  training.updates = updates;
  training.seed = seed;
  training.cost_batch = 64;
  return training;
}

double mean_balance(const ShardingPolicy& policy, const std::vector<ShardingTask>& tasks) {
  double sum = 0;
  for (const ShardingTask& task : tasks) sum += balance(task.label(placed(policy, task)));
  return sum / static_cast<double>(tasks.size());
}

}  // namespace

TEST_CASE("same tasks, same seed, same bits; another seed, others" * doctest::test_suite("long")) {
  const auto tasks = made_up_tasks(3, 6, 2, 1);
  const ShardingPolicy first = train_policy(tasks, short_training(3));
  CHECK(train_policy(tasks, short_training(3)).parameters == first.parameters);
  CHECK(train_policy(tasks, short_training(3, 2)).parameters != first.parameters);
  CHECK(first.tasks == 3);
  CHECK(first.tables == 6);
  CHECK(first.ranks == 2);
  CHECK(first.episodes == 30);
}

TEST_CASE("a training that ends early is the whole one up to there: its rate has not fallen yet") {
  const auto tasks = made_up_tasks(3, 6, 2, 1);
  PolicyTraining early = short_training(40);
  early.stop_after = 2;
  std::vector<int> told;
  const ShardingPolicy policy = train_policy(tasks, early, [&](const PolicyProgress& done) {
    CHECK(done.all == 2);
    told.push_back(done.update);
  });
  CHECK(told == std::vector<int>{1, 2});
  CHECK(policy.episodes == 20);
  CHECK(policy.parameters != train_policy(tasks, short_training(2)).parameters);
  PolicyTraining once = short_training(1), again = short_training(40);
  again.stop_after = 1;
  CHECK(train_policy(tasks, once).parameters == train_policy(tasks, again).parameters);
}

TEST_CASE("training makes shards of unseen tasks more even than no training and than the most columns" *
          doctest::test_suite("long")) {
  const auto tasks = made_up_tasks(20, 16, 4, 1), unseen = made_up_tasks(6, 16, 4, 99);
  double first = -1, last = -1;
  const ShardingPolicy trained = train_policy(tasks, short_training(80), [&](const PolicyProgress& done) {
    if (done.update == 1) first = done.reward;
    last = done.reward;
  });
  CHECK(last > first + 0.2);
  CHECK(mean_balance(trained, unseen) > 0.75);
  // The costs learned beside order tables as their labels do.
  double by_costs = 0;
  for (const ShardingTask& task : unseen) by_costs += balance(task.label(dealt_by_costs(trained, task)));
  CHECK(by_costs / 6 > 0.75);
}

TEST_CASE("tasks of several sizes are learned side by side, and other sizes are placed" * doctest::test_suite("long")) {
  auto tasks = made_up_tasks(2, 6, 2, 1);
  for (ShardingTask& task : made_up_tasks(2, 9, 3, 2)) tasks.push_back(std::move(task));
  const ShardingPolicy policy = train_policy(tasks, short_training(4));
  Rng rng(4);
  const ShardingTask larger = made_up_task(40, 16, rng);
  const std::vector<int> rank_of = placed(policy, larger);
  CHECK(rank_of.size() == 40);
  CHECK(std::ranges::all_of(rank_of, [](int rank) { return rank >= 0 && rank < 16; }));
}

TEST_CASE("a placed table has room where any rank has") {
  auto tasks = made_up_tasks(1, 8, 4, 1);
  const ShardingPolicy policy = train_policy(tasks, short_training(1));
  ShardingTask& task = tasks.front();
  for (double& bytes : task.bytes) bytes = 10;
  task.room = 20;
  const std::vector<double> held = bytes_held(task, placed(policy, task));
  CHECK(*std::ranges::max_element(held) == 20);
  task.room = 19;  // two tables fit nowhere together: some rank is overfull, and the caller sees it
  const std::vector<double> over = bytes_held(task, placed(policy, task));
  CHECK(*std::ranges::max_element(over) > 19);
}

TEST_CASE("episodes over memory are rewarded by the share that is over") {
  auto tasks = made_up_tasks(2, 6, 2, 1);
  for (ShardingTask& task : tasks) {
    std::ranges::fill(task.bytes, 10.0);
    task.room = 20;  // six tables of 10 on two ranks: the fullest has 30 to 60
  }
  train_policy(tasks, short_training(2), [&](const PolicyProgress& done) {
    CHECK(done.reward <= -0.5);
    CHECK(done.reward >= -2);
  });
}

TEST_CASE("what cannot be trained on is refused") {
  const auto message = [](const std::vector<ShardingTask>& tasks, const PolicyTraining& training) -> std::string {
    return error_of([&] { train_policy(tasks, training); });
  };
  CHECK(message({}, short_training(1)).find("no task") != std::string::npos);
  auto tasks = made_up_tasks(2, 4, 2, 1);
  tasks[1].setting.provider = "measured";
  CHECK(message(tasks, short_training(1)).find("provider") != std::string::npos);
  tasks[1].setting = tasks[0].setting;
  tasks[1].alone[2] = 0;
  CHECK(message(tasks, short_training(1)).find("not above 0") != std::string::npos);
  tasks[1].alone[2] = 1;
  PolicyTraining training = short_training(1);
  training.without = {"poling_factor"};
  CHECK(message(tasks, training).find("pooling_factor") != std::string::npos);
}

TEST_CASE("without the cost model tables come in their order, and no cost is predicted") {
  const auto tasks = made_up_tasks(2, 6, 2, 1);
  PolicyTraining training = short_training(2);
  training.without = {"cost_model"};
  double error = -1;
  const ShardingPolicy policy =
      train_policy(tasks, training, [&](const PolicyProgress& done) { error = done.cost_error; });
  CHECK(error == 0);
  CHECK(std::ranges::count(policy.used, 0) == 0);
  const ShardingTask* const first = &tasks.front();
  const Played played = play(policy, {&first, 1}, best_with_room);
  CHECK(played.order.front() == std::vector<int>{0, 1, 2, 3, 4, 5});
  for (std::size_t i = 0; i < played.episodes.loads.size(); i += 2) CHECK(played.episodes.loads[i] == 0);
}

TEST_CASE("a feature that is left out changes nothing") {
  const auto tasks = made_up_tasks(2, 6, 2, 1);
  PolicyTraining training = short_training(2);
  training.without = {"pooling_factor", "bins"};
  const ShardingPolicy policy = train_policy(tasks, training);
  CHECK(std::ranges::count(policy.used, 0) == 18);
  ShardingTask changed = tasks.front();
  for (std::size_t at = 2; at < changed.features.size(); at += policy.used.size()) changed.features[at] = 7;
  CHECK(placed(policy, changed) == placed(policy, tasks.front()));
}

}  // namespace shardsim::trainer_test
