#include "plan/dreamshard/placing_trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "models/learned/training.h"
#include "plan/autoshard/choices.h"

namespace shardsim {
namespace {

// Placements with their costs, in units of the policy.
class MeasuredPlacements {
 public:
  static constexpr std::size_t kCosts = PlacementNet<float>::kCosts;

  // The wanted outputs for the placements that were drawn.
  struct Wanted {
    std::array<std::vector<float>, kCosts> costs;  // of shards
    std::vector<float> all;                        // of placements
  };

  MeasuredPlacements(const std::vector<PlacementTask>& tasks, const PlacingPolicy& policy)
      : unit_(policy.unit_seconds) {
    for (const PlacementTask& task : tasks) values_.push_back(policy.scaled(task.features));
    drawn_.features = static_cast<int>(policy.used.size());
  }

  std::size_t size() const { return placements_.size(); }

  void add(std::size_t task, std::vector<int> rank_of, PlacementCosts costs) {
    placements_.push_back({task, std::move(rank_of), std::move(costs)});
  }

  // Draws placements with replacement.
  const PlacementSets<float>& draw(int count, Rng& rng, Wanted& wanted) {
    const int features = drawn_.features;
    drawn_ = {};
    drawn_.features = features;
    wanted = {};
    place_of_.assign(values_.size(), -1);
    for (int i = 0; i < count; ++i) take(placements_[rng.below(placements_.size())], wanted);
    return drawn_;
  }

 private:
  struct Placement {
    std::size_t task = 0;
    std::vector<int> rank_of;
    PlacementCosts costs;
  };

  // The tables of a task go through the net once for all of its placements.
  int first_piece(std::size_t task) {
    if (place_of_[task] < 0) {
      place_of_[task] = static_cast<int>(drawn_.pieces.size()) / drawn_.features;
      drawn_.pieces.insert(drawn_.pieces.end(), values_[task].begin(), values_[task].end());
    }
    return place_of_[task];
  }

  void take(const Placement& placement, Wanted& wanted) {
    const int first = first_piece(placement.task);
    const PlacementCosts& costs = placement.costs;
    for (std::size_t rank = 0; rank < costs.forward.size(); ++rank) {
      for (std::size_t t = 0; t < placement.rank_of.size(); ++t)
        if (placement.rank_of[t] == static_cast<int>(rank)) drawn_.members.push_back(first + static_cast<int>(t));
      drawn_.begins.push_back(drawn_.members.size());
      wanted.costs[0].push_back(static_cast<float>(costs.forward[rank] / unit_));
      wanted.costs[1].push_back(static_cast<float>(costs.backward[rank] / unit_));
      wanted.costs[2].push_back(static_cast<float>(costs.exchange[rank] / unit_));
    }
    drawn_.first.push_back(drawn_.shards());
    wanted.all.push_back(static_cast<float>(costs.all / unit_));
  }

  double unit_;
  std::vector<std::vector<float>> values_;  // [tasks]
  std::vector<Placement> placements_;
  std::vector<int> place_of_;  // [tasks] in the pieces that are drawn; -1: not among them
  PlacementSets<float> drawn_;
};

// The mean square of output - wanted, and its gradient.
double square_loss(const std::vector<float>& outputs, const std::vector<float>& wanted, std::vector<float>& gradient) {
  double square = 0;
  gradient.clear();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const float off = outputs[i] - wanted[i];
    square += static_cast<double>(off) * off;
    gradient.push_back(2 * off / static_cast<float>(outputs.size()));
  }
  return square / static_cast<double>(outputs.size());
}

class PlacingTrainer {
 public:
  PlacingTrainer(const std::vector<PlacementTask>& tasks, PlacingPolicy policy, const PlacingTraining& training)
      : tasks_(tasks),
        policy_(std::move(policy)),
        training_(training),
        costs_(static_cast<int>(policy_.used.size())),
        choices_(static_cast<int>(policy_.used.size())),
        cost_adam_(costs_.parameter_count()),
        choice_adam_(choices_.parameter_count()),
        rng_(training.seed),
        measured_(tasks, policy_) {
    policy_.costs.resize(costs_.parameter_count());
    policy_.choices.resize(choices_.parameter_count());
    costs_.initialise(policy_.costs, rng_);
    choices_.initialise(policy_.choices, rng_);
  }

  PlacingProgress iterate(int number) {
    const double rate = training_.rate * (1 - static_cast<double>(number) / training_.iterations);
    double seconds = 0, error = 0;
    for (int i = 0; i < training_.placements; ++i) seconds += measure();
    for (int i = 0; i < training_.cost_steps; ++i) error += learn_costs(rate);
    for (int i = 0; i < training_.updates; ++i) learn_choices(rate);
    return {number + 1, training_.iterations, seconds / training_.placements, error / training_.cost_steps};
  }

  PlacingPolicy take() {
    policy_.measured = static_cast<std::int64_t>(measured_.size());
    return std::move(policy_);
  }

 private:
  PlacedGames drawn_games(std::size_t task, int count, bool learned_from) {
    return play_games(policy_, tasks_[task], count, learned_from,
                      [&](int, std::span<const float> scores) { return drawn_rank(scores, rng_); });
  }

  // Measures a placement of a task by the policy; returns its seconds.
  double measure() {
    const std::size_t task = rng_.below(tasks_.size());
    PlacedGames games = drawn_games(task, 1, false);
    PlacementCosts costs = tasks_[task].measure(games.rank_of.front());
    const double seconds = costs.all;
    measured_.add(task, std::move(games.rank_of.front()), std::move(costs));
    return seconds;
  }

  // One step of the cost network; returns the mean square error of whole placements.
  double learn_costs(double rate) {
    const PlacementSets<float>& sets = measured_.draw(training_.cost_batch, rng_, wanted_);
    costs_.forward(policy_.costs, sets, cost_pass_);
    std::array<std::vector<float>, PlacementNet<float>::kCosts> of_costs;
    std::vector<float> of_all;
    for (std::size_t k = 0; k < of_costs.size(); ++k)
      square_loss(cost_pass_.costs[k].back(), wanted_.costs[k], of_costs[k]);
    const double error = square_loss(cost_pass_.all.back(), wanted_.all, of_all);
    gradient_.assign(policy_.costs.size(), 0);
    costs_.backward(policy_.costs, sets, cost_pass_, std::move(of_costs), std::move(of_all), gradient_);
    cost_adam_.step(policy_.costs, gradient_, rate);
    return error;
  }

  // An episode is rewarded with the predicted cost of its placement, and with more where a rank is overfull, whose
  // tables would have found room otherwise.
  std::vector<double> advantages(const ShardingTask& task, const PlacedGames& games) const {
    std::vector<double> rewards;
    for (std::size_t e = 0; e < games.cost.size(); ++e) {
      const double over = std::max(0.0, bytes_over(task, games.rank_of[e]) / std::max(task.room, 1.0));
      rewards.push_back(-static_cast<double>(games.cost[e]) * (1 + std::min(over, 1e3)));
    }
    const auto count = static_cast<double>(rewards.size());
    const double mean = std::accumulate(rewards.begin(), rewards.end(), 0.0) / count;
    double square = 0;
    for (const double reward : rewards) square += (reward - mean) * (reward - mean);
    const double deviation = std::sqrt(square / count) + 1e-8;
    for (double& reward : rewards) reward = (reward - mean) / deviation;
    return rewards;
  }

  // One step of the policy on episodes of one task in the estimated decision process.
  void learn_choices(double rate) {
    const std::size_t number = rng_.below(tasks_.size());
    PlacedGames games = drawn_games(number, training_.episodes, true);
    const std::vector<double> advantage = advantages(tasks_[number], games);
    const PlacingEpisodes<float>& episodes = games.episodes;
    const auto ranks = static_cast<std::size_t>(episodes.ranks);
    choices_.forward(policy_.choices, episodes, choice_pass_);
    std::vector<float> of_scores;
    for (std::size_t i = 0; i < static_cast<std::size_t>(episodes.steps()); ++i)
      add_choice_gradient(std::span<const float>(games.scores).subspan(i * ranks, ranks), episodes.rank_of[i],
                          advantage[i % advantage.size()], training_.entropy_weight, of_scores);
    for (float& value : of_scores) value /= static_cast<float>(episodes.steps());
    gradient_.assign(policy_.choices.size(), 0);
    choices_.backward(policy_.choices, episodes, choice_pass_, std::move(of_scores), gradient_);
    choice_adam_.step(policy_.choices, gradient_, rate);
  }

  const std::vector<PlacementTask>& tasks_;
  PlacingPolicy policy_;
  const PlacingTraining& training_;
  PlacementNet<float> costs_;
  PlacingNet<float> choices_;
  Adam cost_adam_, choice_adam_;
  Rng rng_;
  MeasuredPlacements measured_;
  MeasuredPlacements::Wanted wanted_;
  PlacementNet<float>::Pass cost_pass_;
  PlacingNet<float>::Pass choice_pass_;
  std::vector<float> gradient_;
};

}  // namespace

PlacingPolicy train_placing(const std::vector<PlacementTask>& tasks, const PlacingTraining& training,
                            const PlacingWatch& watch) {
  std::vector<const ShardingTask*> all;
  for (const PlacementTask& task : tasks) all.push_back(&task);
  PlacingPolicy policy;
  static_cast<TrainedOn&>(policy) =
      trained_on(all, training.seed, training.without, {"dim", "row", "pooling_factor", "size"});
  policy.episodes = static_cast<std::int64_t>(training.iterations) * training.updates * training.episodes;
  PlacingTrainer trainer(tasks, std::move(policy), training);
  for (int number = 0; number < training.iterations; ++number) {
    const PlacingProgress done = trainer.iterate(number);
    if (watch) watch(done);
  }
  return trainer.take();
}

}  // namespace shardsim
