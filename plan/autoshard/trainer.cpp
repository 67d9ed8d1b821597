#include "plan/autoshard/trainer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "models/learned/training.h"
#include "plan/autoshard/choices.h"

namespace shardsim {
namespace {

// Labels of shards, the last `most` of them, over the tables of all tasks.
class LabelBuffer {
 public:
  LabelBuffer(int features, int most) : most_(static_cast<std::size_t>(most)) { drawn_.features = features; }

  // Equal tables are one piece. Returns their pieces.
  std::vector<int> pieces_of(const std::vector<float>& values) {
    const auto width = static_cast<std::ptrdiff_t>(drawn_.features);
    std::vector<int> pieces;
    for (auto at = values.begin(); at != values.end(); at += width) {
      const auto next = static_cast<int>(known_.size());
      const auto [place, fresh] = known_.try_emplace({at, at + width}, next);
      if (fresh) drawn_.pieces.insert(drawn_.pieces.end(), at, at + width);
      pieces.push_back(place->second);
    }
    return pieces;
  }

  void add(std::vector<int> shard, float cost) {
    if (labels_.size() < most_) labels_.emplace_back();
    labels_[next_++ % most_] = {std::move(shard), cost};
  }

  bool empty() const { return labels_.empty(); }

  // Draws shards with replacement, and their costs.
  const PieceSets<float>& draw(int count, Rng& rng, std::vector<float>& costs) {
    drawn_.members.clear();
    drawn_.begins = {0};
    costs.clear();
    for (int i = 0; i < count; ++i) {
      const auto& [shard, cost] = labels_[rng.below(labels_.size())];
      drawn_.add(shard);
      costs.push_back(cost);
    }
    return drawn_;
  }

 private:
  std::size_t most_, next_ = 0;
  std::map<std::vector<float>, int> known_;
  PieceSets<float> drawn_;
  std::vector<std::pair<std::vector<int>, float>> labels_;
};

// (M - largest)/M for tables that do not fit, of M bytes on every rank; else none.
std::optional<double> overfull(const ShardingTask& task, std::span<const int> rank_of) {
  const double over = bytes_over(task, rank_of);
  if (over <= 0) return std::nullopt;
  return std::max(-1e6, -over / std::max(task.room, 1.0));
}

class Trainer {
 public:
  Trainer(const std::vector<ShardingTask>& tasks, ShardingPolicy policy, const PolicyTraining& training)
      : tasks_(tasks),
        policy_(std::move(policy)),
        training_(training),
        net_(static_cast<int>(policy_.used.size())),
        adam_(net_.parameter_count()),
        cost_adam_(net_.costs().parameter_count()),
        rng_(training.seed),
        labels_(static_cast<int>(policy_.used.size()), training.buffer) {
    policy_.parameters.resize(net_.parameter_count());
    net_.initialise(policy_.parameters, rng_);
    if (!has_cost_model(training)) forget_costs();
    for (const ShardingTask& task : tasks) pieces_.push_back(labels_.pieces_of(policy_.scaled(task.features)));
  }

  PolicyProgress update(int number) {
    const double rate = training_.rate * (1 - static_cast<double>(number) / training_.updates);
    const std::vector<const ShardingTask*> chosen = draw_tasks();
    Played played =
        play(policy_, chosen, [&](std::span<const float> scores, const auto&) { return drawn_rank(scores, rng_); });
    std::vector<double> rewards;
    for (std::size_t e = 0; e < chosen.size(); ++e) rewards.push_back(judge(*chosen[e], played.rank_of[e]));
    learn_choices(played, rewards, rate);
    double error = 0;
    const int steps = has_cost_model(training_) ? training_.cost_steps : 0;
    for (int step = 0; step < steps && !labels_.empty(); ++step) error += learn_costs(rate);
    const double mean = std::accumulate(rewards.begin(), rewards.end(), 0.0) / static_cast<double>(rewards.size());
    return {number + 1, updates_made(training_), mean, error / std::max(1, steps)};
  }

  ShardingPolicy take() { return std::move(policy_); }

 private:
  // Every shard is predicted to cost 0 from now on: the head of the cost model takes no step with the policy.
  void forget_costs() {
    const ShardNet<float>& costs = net_.costs();
    const std::span<float> all(policy_.parameters);
    std::ranges::fill(costs.of_head(all.first(costs.parameter_count())), 0.0F);
  }

  // The first at random, the others at random among those of its numbers of tables and ranks.
  std::vector<const ShardingTask*> draw_tasks() {
    const ShardingTask& first = tasks_[rng_.below(tasks_.size())];
    std::vector<const ShardingTask*> alike;
    for (const ShardingTask& task : tasks_)
      if (task.tables() == first.tables() && task.ranks == first.ranks) alike.push_back(&task);
    std::vector<const ShardingTask*> drawn{&first};
    while (std::ssize(drawn) < training_.episodes) {
      const bool again = std::ssize(drawn) % training_.plays != 0;
      drawn.push_back(again ? drawn.back() : alike[rng_.below(alike.size())]);
    }
    return drawn;
  }

  // The reward; the shards of tasks that fit are labels from now on.
  double judge(const ShardingTask& task, std::span<const int> rank_of) {
    if (const auto reward = overfull(task, rank_of)) return *reward;
    const std::vector<double> seconds = task.label(rank_of);
    const std::vector<int>& pieces = pieces_[static_cast<std::size_t>(&task - tasks_.data())];
    for (int rank = 0; rank < task.ranks; ++rank) {
      std::vector<int> shard;
      for (std::size_t t = 0; t < rank_of.size(); ++t)
        if (rank_of[t] == rank) shard.push_back(pieces[t]);
      const double cost = seconds[static_cast<std::size_t>(rank)] / policy_.unit_seconds;
      if (!shard.empty()) labels_.add(std::move(shard), static_cast<float>(cost));
    }
    return balance(seconds);
  }

  // By episode: the mean reward of the plays of its task.
  std::vector<double> means_of_plays(std::span<const double> rewards) const {
    std::vector<double> means;
    const auto plays = static_cast<std::size_t>(training_.plays);
    for (std::size_t e = 0; e < rewards.size(); ++e) {
      const auto same = rewards.subspan(e / plays * plays).first(std::min(plays, rewards.size() - e / plays * plays));
      means.push_back(std::accumulate(same.begin(), same.end(), 0.0) / static_cast<double>(same.size()));
    }
    return means;
  }

  // One step of Adam on the loss of the choices and values of whole episodes. Discount 1 and a reward at the end: the
  // return of every step is its episode's reward.
  void learn_choices(Played& played, std::span<const double> rewards, double rate) {
    const Episodes<float>& episodes = played.episodes;
    net_.finish(policy_.parameters, played.pass);
    const std::span<const float> logits(played.pass.logits.back());
    const auto ranks = static_cast<std::size_t>(episodes.ranks);
    const std::vector<double> expected = means_of_plays(rewards);
    std::vector<float> of_logits, of_values;
    for (std::size_t i = 0; i < static_cast<std::size_t>(episodes.steps()); ++i) {
      const std::size_t episode = i % rewards.size();
      const double surprise = rewards[episode] - played.pass.value.back()[i];
      const double advantage = training_.plays > 1 ? rewards[episode] - expected[episode] : surprise;
      add_choice_gradient(logits.subspan(i * ranks, ranks), episodes.rank_of[i], advantage, training_.entropy_weight,
                          of_logits);
      of_values.push_back(static_cast<float>(-training_.value_weight * surprise));
    }
    gradient_.assign(policy_.parameters.size(), 0);
    net_.backward(policy_.parameters, episodes, played.pass, std::move(of_logits), std::move(of_values), gradient_);
    clip_norm(gradient_, training_.clip);
    adam_.step(policy_.parameters, gradient_, rate);
  }

  // One step of the cost model on shards drawn from the buffer; returns their mean square error.
  double learn_costs(double rate) {
    const ShardNet<float>& costs = net_.costs();
    const PieceSets<float>& shards = labels_.draw(training_.cost_batch, rng_, wanted_);
    std::vector<int> all(wanted_.size());
    std::iota(all.begin(), all.end(), 0);
    costs.forward(net_.of_costs(policy_.parameters), shards, all, cost_pass_);
    double square = 0;
    std::vector<float> of_outputs;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const float off = cost_pass_.head.back()[i] - wanted_[i];
      square += static_cast<double>(off) * off;
      of_outputs.push_back(2 * off / static_cast<float>(wanted_.size()));
    }
    gradient_.assign(costs.parameter_count(), 0);
    costs.backward(net_.of_costs(policy_.parameters), shards, all, cost_pass_, std::move(of_outputs), gradient_);
    clip_norm(gradient_, training_.clip);
    cost_adam_.step(std::span<float>(policy_.parameters).first(gradient_.size()), gradient_, rate);
    return square / static_cast<double>(wanted_.size());
  }

  const std::vector<ShardingTask>& tasks_;
  ShardingPolicy policy_;
  const PolicyTraining& training_;
  PolicyNet<float> net_;
  Adam adam_, cost_adam_;
  Rng rng_;
  LabelBuffer labels_;
  std::vector<std::vector<int>> pieces_;  // [tasks][tables] in the buffer
  ShardNet<float>::Pass cost_pass_;
  std::vector<float> gradient_, wanted_;
};

}  // namespace

ShardingPolicy train_policy(const std::vector<ShardingTask>& tasks, const PolicyTraining& training,
                            const PolicyWatch& watch) {
  Trainer trainer(tasks, untrained_policy(tasks, training), training);
  for (int number = 0; number < updates_made(training); ++number) {
    const PolicyProgress done = trainer.update(number);
    if (watch) watch(done);
  }
  return trainer.take();
}

bool has_cost_model(const PolicyTraining& training) {
  return std::ranges::find(training.without, kCostModelPart) == training.without.end();
}

int updates_made(const PolicyTraining& training) {
  return training.stop_after > 0 ? std::min(training.stop_after, training.updates) : training.updates;
}

// Standardised are those features that AutoShard's code standardises.
ShardingPolicy untrained_policy(const std::vector<ShardingTask>& tasks, const PolicyTraining& training) {
  std::vector<const ShardingTask*> all;
  for (const ShardingTask& task : tasks) all.push_back(&task);
  std::vector<std::string> hidden = training.without;
  std::erase(hidden, kCostModelPart);
  ShardingPolicy policy{trained_on(all, training.seed, hidden, {"dim", "row", "pooling_factor"}), 0, {}};
  policy.episodes = static_cast<std::int64_t>(updates_made(training)) * training.episodes;
  return policy;
}

}  // namespace shardsim
