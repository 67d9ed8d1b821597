#include "plan/dreamshard/placing_trainer.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "base/error.h"
#include "tests/base/error_text.h"
#include "tests/plan/dreamshard/placing_tasks.h"

namespace shardsim::placing_trainer_test {

namespace fs = std::filesystem;

namespace {

double mean_cost(const PlacingPolicy& policy, const std::vector<PlacementTask>& tasks, int samples) {
  double sum = 0;
  for (const PlacementTask& task : tasks) sum += task.measure(best_of_games(policy, task, {samples, 0}, 1).rank_of).all;
  return sum / static_cast<double>(tasks.size());
}

double mean_random_cost(const std::vector<PlacementTask>& tasks) {
  Rng rng(5);
  double sum = 0;
  for (const PlacementTask& task : tasks)
    for (int draw = 0; draw < 20; ++draw) {
      std::vector<int> rank_of;
      for (int t = 0; t < task.tables(); ++t)
        rank_of.push_back(static_cast<int>(rng.below(static_cast<std::uint64_t>(task.ranks))));
      sum += task.measure(rank_of).all / 20;
    }
  return sum / static_cast<double>(tasks.size());
}

struct PolicyFile {
  PolicyFile() : path(fs::temp_directory_path() / ("placing_policy_" + std::to_string(::getpid()) + ".h5")) {}
  ~PolicyFile() { fs::remove(path); }
  fs::path path;
};

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("same tasks and seed train the same nets; another seed trains others" * doctest::test_suite("long")) {
  const auto tasks = placing_tasks(3, 6, 2, 1);
  const PlacingPolicy first = train_placing(tasks, short_placing(2));
  const PlacingPolicy again = train_placing(tasks, short_placing(2));
  CHECK(again.costs == first.costs);
  CHECK(again.choices == first.choices);
  CHECK(train_placing(tasks, short_placing(2, 2)).choices != first.choices);
  CHECK(first.measured == 8);
  CHECK(first.episodes == 80);
}

TEST_CASE("what was trained places unseen tasks of other sizes faster than chance" * doctest::test_suite("long")) {
  PlacingTraining training = short_placing(10);
  training.placements = 10;
  training.cost_steps = 150;
  training.updates = 10;
  const PlacingPolicy policy = train_placing(placing_tasks(20, 16, 4, 1), training);
  const auto alike = placing_tasks(6, 16, 4, 99), larger = placing_tasks(4, 40, 8, 7);
  CHECK(mean_cost(policy, alike, 16) < 0.75 * mean_random_cost(alike));
  CHECK(mean_cost(policy, larger, 16) < 0.8 * mean_random_cost(larger));
}

TEST_CASE("tables are placed where there is room, and samples never give up a placement that fits") {
  auto tasks = placing_tasks(2, 8, 4, 1);
  const PlacingPolicy policy = train_placing(tasks, short_placing(1));
  PlacementTask& task = tasks.front();
  std::ranges::fill(task.bytes, 10.0);
  task.room = 20;
  for (const int samples : {0, 8}) CHECK(bytes_over(task, best_of_games(policy, task, {samples, 0}, 3).rank_of) == 0);
  task.room = 19;
  CHECK(bytes_over(task, best_of_games(policy, task, {8, 4}, 3).rank_of) > 0);
  CHECK(error_of([&] {
          refuse_overfull(task, best_of_games(policy, task, {0, 0}, 3).rank_of);
        }).find("missing on GPU") != std::string::npos);
}

TEST_CASE(
    "of placements that are measured the fastest is taken, which is never slower than the one that is predicted") {
  const auto tasks = placing_tasks(6, 12, 4, 3);
  const PlacingPolicy policy = train_placing(tasks, short_placing(1));
  int shorter = 0;
  for (const PlacementTask& task : tasks) {
    const auto time = [&](int measured) {
      return task.measure(best_of_games(policy, task, {32, measured}, 3).rank_of).all;
    };
    CHECK(time(1) == time(0));
    CHECK(time(8) <= time(0));
    CHECK(time(33) <= time(8));
    shorter += time(8) < time(0) ? 1 : 0;
  }
  CHECK(shorter > 0);
}

TEST_CASE("a task that nothing fits is refused with its name and what is missing") {
  PlacementTask task = placing_tasks(1, 8, 4, 1).front();
  task.name = "tight";
  std::ranges::fill(task.bytes, 1000.0);
  task.room = 2000;
  CHECK_NOTHROW(refuse_unplaceable(task));
  task.room = 1900;
  const std::string said = error_of([&] { refuse_unplaceable(task); });
  CHECK(said.find("8 tables of tight do not fit") != std::string::npos);
  CHECK(said.find("100 B of memory are missing on a GPU") != std::string::npos);
}

TEST_CASE("a policy of DreamShard reads back as it was written, and others are refused by name") {
  const PolicyFile file;
  PlacingPolicy policy = train_placing(placing_tasks(2, 4, 2, 1), short_placing(1));
  policy.data = "two tasks";
  policy.cost_error = 0.02;
  save_placing_policy(policy, file.path);
  const std::string bytes = bytes_of(file.path);
  save_placing_policy(policy, file.path);
  CHECK(bytes_of(file.path) == bytes);
  const PlacingPolicy again = read_placing_policy(file.path, "closed_form");
  CHECK(again.costs == policy.costs);
  CHECK(again.choices == policy.choices);
  CHECK(again.features == policy.features);
  CHECK(again.cost_error == 0.02);
  CHECK(again.measured == policy.measured);
  CHECK(has(error_of([&] { read_placing_policy(file.path, "cuda"); }), "not cuda"));
  CHECK(has(error_of([&] { read_policy(file.path); }), "shardsim.dreamshard_policy/1"));
  policy.choices.pop_back();
  save_placing_policy(policy, file.path);
  CHECK(has(error_of([&] { read_placing_policy(file.path); }), "/choice_parameters"));
  policy.choices.push_back(std::numeric_limits<float>::infinity());
  save_placing_policy(policy, file.path);
  CHECK(has(error_of([&] { read_placing_policy(file.path); }), "not finite"));
  std::ofstream(file.path, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  CHECK(has(error_of([&] { read_placing_policy(file.path); }), "placing_policy_"));
}

TEST_CASE("tasks that cannot be trained on are refused") {
  CHECK(has(error_of([] { train_placing({}, short_placing(1)); }), "no task"));
  auto tasks = placing_tasks(2, 4, 2, 1);
  tasks[1].setting.provider = "measured";
  CHECK(has(error_of([&] { train_placing(tasks, short_placing(1)); }), "provider"));
  tasks[1].setting = tasks[0].setting;
  PlacingTraining training = short_placing(1);
  training.without = {"poling_factor"};
  CHECK(has(error_of([&] { train_placing(tasks, training); }), "pooling_factor"));
}

}  // namespace shardsim::placing_trainer_test
