#include <algorithm>

#include "plan/autoshard/choices.h"
#include "plan/dreamshard/placing_policy.h"

namespace shardsim {
namespace {

class PlacingGame {
 public:
  PlacingGame(const PlacingPolicy& policy, const ShardingTask& task, int count)
      : policy_(policy),
        task_(task),
        ranks_(static_cast<std::size_t>(task.ranks)),
        costs_(static_cast<int>(policy.used.size())),
        choices_(static_cast<int>(policy.used.size())) {
    PlacingEpisodes<float>& episodes = games_.episodes;
    episodes.tables = task.tables();
    episodes.ranks = task.ranks;
    episodes.count = count;
    const std::vector<float> values = policy.scaled(task.features);
    sort_tables(values);
    episodes.rank_of.assign(static_cast<std::size_t>(episodes.steps()), 0);
    const auto shards = static_cast<std::size_t>(count) * ranks_;
    sums_.assign(shards * kVector, 0.0F);
    shard_costs_ = costs_.shard_costs(policy.costs, sums_);
    bytes_.assign(shards, 0.0);
    games_.rank_of.assign(static_cast<std::size_t>(count), std::vector<int>(task.alone.size(), -1));
    choices_.start(policy.choices, episodes, games_.pass);
  }

  void step(int step, const GameChoice& choice) {
    PlacingEpisodes<float>& episodes = games_.episodes;
    episodes.costs.insert(episodes.costs.end(), shard_costs_.begin(), shard_costs_.end());
    const std::span<const float> offered = choices_.offer(policy_.choices, episodes, step, games_.pass);
    const auto table = static_cast<std::size_t>(games_.order[static_cast<std::size_t>(step)]);
    for (int e = 0; e < episodes.count; ++e) {
      const auto episode = static_cast<std::size_t>(e);
      const std::vector<float> scores = with_room(offered.subspan(episode * ranks_, ranks_), episode, table);
      const int rank = choice(e, scores);
      games_.scores.insert(games_.scores.end(), scores.begin(), scores.end());
      episodes.rank_of[static_cast<std::size_t>(step * episodes.count + e)] = rank;
      games_.rank_of[episode][table] = rank;
      put(static_cast<std::size_t>(step), episode * ranks_ + static_cast<std::size_t>(rank), table);
    }
    choices_.place(episodes, step, games_.pass);
    predict(step);
  }

  PlacedGames take() {
    for (std::size_t e = 0; e < games_.rank_of.size(); ++e) {
      const std::span<const float> sums(sums_);
      games_.cost.push_back(costs_.placement_cost(policy_.costs, sums.subspan(e * ranks_ * kVector, ranks_ * kVector)));
    }
    return std::move(games_);
  }

 private:
  static constexpr std::size_t kVector = PlacementNet<float>::kVector, kCosts = PlacementNet<float>::kCosts;

  void sort_tables(const std::vector<float>& values) {
    const std::vector<float> vectors = costs_.vectors(policy_.costs, values);
    const std::vector<float> singles = costs_.shard_costs(policy_.costs, vectors);
    std::vector<float> alone;
    for (std::size_t t = 0; t < task_.alone.size(); ++t)
      alone.push_back(singles[t * kCosts] + singles[t * kCosts + 1] + singles[t * kCosts + 2]);
    games_.order = falling(alone);
    const auto width = static_cast<std::ptrdiff_t>(policy_.used.size());
    for (const int table : games_.order) {
      const auto from = values.begin() + table * width, vector = vectors.begin() + table * std::ptrdiff_t{kVector};
      games_.episodes.values.insert(games_.episodes.values.end(), from, from + width);
      vectors_.insert(vectors_.end(), vector, vector + kVector);
    }
  }

  std::vector<float> with_room(std::span<const float> offered, std::size_t episode, std::size_t table) const {
    std::vector<float> scores(offered.begin(), offered.end());
    const auto has_room = [&](std::size_t rank) {
      return bytes_[episode * ranks_ + rank] + task_.bytes[table] <= task_.room;
    };
    bool any = false;
    for (std::size_t rank = 0; rank < ranks_; ++rank) any = any || has_room(rank);
    for (std::size_t rank = 0; any && rank < ranks_; ++rank)
      if (!has_room(rank)) scores[rank] = kNoChoice;
    return scores;
  }

  void put(std::size_t step, std::size_t shard, std::size_t table) {
    bytes_[shard] += task_.bytes[table];
    for (std::size_t k = 0; k < kVector; ++k) sums_[shard * kVector + k] += vectors_[step * kVector + k];
  }

  // The costs of the shards that have grown in this step.
  void predict(int step) {
    const PlacingEpisodes<float>& episodes = games_.episodes;
    std::vector<float> grown;
    std::vector<std::size_t> shards;
    for (int e = 0; e < episodes.count; ++e) {
      const int rank = episodes.rank_of[static_cast<std::size_t>(step * episodes.count + e)];
      shards.push_back(static_cast<std::size_t>(e) * ranks_ + static_cast<std::size_t>(rank));
      const auto from = sums_.begin() + static_cast<std::ptrdiff_t>(shards.back() * kVector);
      grown.insert(grown.end(), from, from + kVector);
    }
    const std::vector<float> costs = costs_.shard_costs(policy_.costs, grown);
    for (std::size_t e = 0; e < shards.size(); ++e)
      for (std::size_t k = 0; k < kCosts; ++k) shard_costs_[shards[e] * kCosts + k] = costs[e * kCosts + k];
  }

  const PlacingPolicy& policy_;
  const ShardingTask& task_;
  std::size_t ranks_;
  PlacementNet<float> costs_;
  PlacingNet<float> choices_;
  std::vector<float> vectors_;      // [tables x kVector] of the cost network, in the order of placing
  std::vector<float> sums_;         // [count x ranks x kVector] of these
  std::vector<float> shard_costs_;  // [count x ranks x kCosts]
  std::vector<double> bytes_;       // [count x ranks]
  PlacedGames games_;
};

int highest_score(std::span<const float> scores) {
  return static_cast<int>(std::ranges::max_element(scores) - scores.begin());
}

}  // namespace

PlacedGames play_games(const PlacingPolicy& policy, const ShardingTask& task, int count, const GameChoice& choice) {
  PlacingGame game(policy, task, count);
  for (int step = 0; step < task.tables(); ++step) game.step(step, choice);
  return game.take();
}

double bytes_over(const ShardingTask& task, std::span<const int> rank_of) {
  const std::vector<double> held = bytes_held(task, rank_of);
  return *std::ranges::max_element(held) - task.room;
}

GamePlan best_of_games(const PlacingPolicy& policy, const ShardingTask& task, int samples, std::uint64_t seed) {
  if (task.tables() == 0) return {};
  Rng rng(seed);
  const PlacedGames games =
      play_games(policy, task, samples + 1, [&](int episode, std::span<const float> scores) {
        return episode == 0 ? highest_score(scores) : drawn_rank(scores, rng);
      });
  std::size_t best = 0;
  bool fits = bytes_over(task, games.rank_of[0]) <= 0;
  for (std::size_t e = 1; e < games.rank_of.size(); ++e) {
    if (bytes_over(task, games.rank_of[e]) > 0) continue;
    if (!fits || games.cost[e] < games.cost[best]) best = e, fits = true;
  }
  return {games.rank_of[best], games.cost[best] * policy.unit_seconds};
}

}  // namespace shardsim
