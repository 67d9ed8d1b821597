#include "plan/dreamshard/placing_policy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "plan/autoshard/choices.h"
#include "plan/column_shards/piece_kinds.h"
#include "plan/column_shards/shard_costs.h"

namespace shardsim {
namespace {

// Measures placements of the tables of one workload.
class PlacementScale {
 public:
  PlacementScale(const Workload& workload, const Cluster& cluster, const PlannerContext& context)
      : forward_(closed_form_shard_costs(workload, cluster, context, ShardSteps::forward)),
        backward_(closed_form_shard_costs(workload, cluster, context, ShardSteps::backward)),
        plans_(closed_form_plan_costs(cluster, context, workload.pipeline == "none")),
        slowness_(slowness(cluster)) {
    PieceKinds kinds(workload, cluster, context, {true, false}, forward_.get(), plans_.get());
    for (std::size_t t = 0; t < workload.tables.size(); ++t) {
      const auto known = static_cast<int>(kinds.size());
      kinds_.push_back(kinds.whole_table(t));
      if (kinds_.back() == known) backward_->learn(kinds.placement(t, known, 0, 0));
    }
  }

  PlacementCosts costs(std::span<const int> rank_of) {
    PlacementCosts result = whole(rank_of);
    for (std::size_t rank = 0; rank < slowness_.size(); ++rank)
      result.exchange.push_back(exchange_alone(rank_of, static_cast<int>(rank)));
    return result;
  }

  // Without `exchange`.
  PlacementCosts whole(std::span<const int> rank_of) {
    PlacementCosts result;
    result.forward = shard_seconds(*forward_, rank_of);
    result.backward = shard_seconds(*backward_, rank_of);
    std::vector<double> shards;
    for (std::size_t rank = 0; rank < slowness_.size(); ++rank)
      shards.push_back(result.forward[rank] + result.backward[rank]);
    all_kinds_.assign(kinds_.begin(), kinds_.end());
    all_ranks_.assign(rank_of.begin(), rank_of.end());
    result.all = plan_seconds(all_kinds_, all_ranks_, shards);
    return result;
  }

 private:
  std::vector<double> shard_seconds(ShardCosts& costs, std::span<const int> rank_of) const {
    std::vector<double> seconds;
    for (std::size_t rank = 0; rank < slowness_.size(); ++rank) costs.clear(static_cast<int>(rank));
    for (std::size_t t = 0; t < rank_of.size(); ++t) costs.add(rank_of[t], kinds_[t]);
    for (std::size_t rank = 0; rank < slowness_.size(); ++rank)
      seconds.push_back(costs.seconds(static_cast<int>(rank)) * slowness_[rank]);
    return seconds;
  }

  // The exchanges of a plan in which the other ranks hold nothing.
  double exchange_alone(std::span<const int> rank_of, int rank) {
    all_kinds_.clear(), all_ranks_.clear();
    for (std::size_t t = 0; t < rank_of.size(); ++t) {
      if (rank_of[t] != rank) continue;
      all_kinds_.push_back(kinds_[t]);
      all_ranks_.push_back(static_cast<std::uint16_t>(rank));
    }
    if (all_kinds_.empty()) return 0;
    const std::vector<double> nothing(slowness_.size(), 0.0);
    return plan_seconds(all_kinds_, all_ranks_, nothing);
  }

  double plan_seconds(std::span<const int> kinds, std::span<const std::uint16_t> ranks,
                      std::span<const double> shards) {
    const std::array<ShardedPieces, 1> plan{ShardedPieces{kinds, ranks, shards}};
    const std::array<double, 1> limit{std::numeric_limits<double>::infinity()};
    std::array<double, 1> seconds{};
    plans_->seconds(plan, limit, seconds);
    return seconds.front();
  }

  std::unique_ptr<ShardCosts> forward_, backward_;
  std::unique_ptr<PlanCosts> plans_;
  std::vector<double> slowness_;  // by rank
  std::vector<int> kinds_;        // by table
  std::vector<int> all_kinds_;    // of the plan that is asked about
  std::vector<std::uint16_t> all_ranks_;
};

class PlacingGame {
 public:
  PlacingGame(const PlacingPolicy& policy, const ShardingTask& task, int count, bool kept)
      : policy_(policy),
        task_(task),
        kept_(kept),
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
    choice_sums_ = sums_;
    shard_costs_ = costs_.shard_costs(policy.costs, sums_);
    scores_ = choices_.scores(policy.choices, choice_sums_, shard_costs_);
    bytes_.assign(shards, 0.0);
    games_.rank_of.assign(static_cast<std::size_t>(count), std::vector<int>(task.alone.size(), -1));
  }

  void step(int step, const GameChoice& choice) {
    PlacingEpisodes<float>& episodes = games_.episodes;
    if (kept_) episodes.costs.insert(episodes.costs.end(), shard_costs_.begin(), shard_costs_.end());
    const auto table = static_cast<std::size_t>(games_.order[static_cast<std::size_t>(step)]);
    std::vector<std::size_t> grown;
    for (int e = 0; e < episodes.count; ++e) {
      const auto episode = static_cast<std::size_t>(e);
      const std::vector<float> scores = with_room(episode, table);
      const int rank = choice(e, scores);
      if (kept_) games_.scores.insert(games_.scores.end(), scores.begin(), scores.end());
      episodes.rank_of[static_cast<std::size_t>(step * episodes.count + e)] = rank;
      games_.rank_of[episode][table] = rank;
      grown.push_back(episode * ranks_ + static_cast<std::size_t>(rank));
      put(static_cast<std::size_t>(step), grown.back(), table);
    }
    judge(grown);
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
    const std::vector<float> choice_vectors = choices_.vectors(policy_.choices, values);
    const std::vector<float> singles = costs_.shard_costs(policy_.costs, vectors);
    std::vector<float> alone;
    for (std::size_t t = 0; t < task_.alone.size(); ++t)
      alone.push_back(singles[t * kCosts] + singles[t * kCosts + 1] + singles[t * kCosts + 2]);
    games_.order = falling(alone);
    const auto width = static_cast<std::ptrdiff_t>(policy_.used.size());
    for (const int table : games_.order) {
      const auto from = values.begin() + table * width;
      games_.episodes.values.insert(games_.episodes.values.end(), from, from + width);
      const auto at = table * std::ptrdiff_t{kVector};
      vectors_.insert(vectors_.end(), vectors.begin() + at, vectors.begin() + at + kVector);
      choice_vectors_.insert(choice_vectors_.end(), choice_vectors.begin() + at, choice_vectors.begin() + at + kVector);
    }
  }

  std::vector<float> with_room(std::size_t episode, std::size_t table) const {
    const auto offered = scores_.begin() + static_cast<std::ptrdiff_t>(episode * ranks_);
    std::vector<float> scores(offered, offered + static_cast<std::ptrdiff_t>(ranks_));
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
    for (std::size_t k = 0; k < kVector; ++k) {
      sums_[shard * kVector + k] += vectors_[step * kVector + k];
      choice_sums_[shard * kVector + k] += choice_vectors_[step * kVector + k];
    }
  }

  // The costs and scores of the shards that have grown.
  void judge(const std::vector<std::size_t>& grown) {
    std::vector<float> sums, choice_sums;
    for (const std::size_t shard : grown)
      for (const auto& [from, to] : {std::pair(&sums_, &sums), std::pair(&choice_sums_, &choice_sums)}) {
        const auto begin = from->begin() + static_cast<std::ptrdiff_t>(shard * kVector);
        to->insert(to->end(), begin, begin + kVector);
      }
    const std::vector<float> costs = costs_.shard_costs(policy_.costs, sums);
    const std::vector<float> scores = choices_.scores(policy_.choices, choice_sums, costs);
    for (std::size_t i = 0; i < grown.size(); ++i) {
      scores_[grown[i]] = scores[i];
      for (std::size_t k = 0; k < kCosts; ++k) shard_costs_[grown[i] * kCosts + k] = costs[i * kCosts + k];
    }
  }

  const PlacingPolicy& policy_;
  const ShardingTask& task_;
  bool kept_;
  std::size_t ranks_;
  PlacementNet<float> costs_;
  PlacingNet<float> choices_;
  std::vector<float> vectors_, choice_vectors_;  // [tables x kVector] of both nets, in the order of placing
  std::vector<float> sums_, choice_sums_;        // [count x ranks x kVector] of these
  std::vector<float> scores_;                    // [count x ranks]
  std::vector<float> shard_costs_;               // [count x ranks x kCosts]
  std::vector<double> bytes_;                    // [count x ranks]
  PlacedGames games_;
};

// The games whose placement fits, by rising predicted cost.
std::vector<std::size_t> fitting_games(const PlacedGames& games, const ShardingTask& task) {
  std::vector<std::size_t> fitting;
  for (std::size_t e = 0; e < games.rank_of.size(); ++e) {
    if (bytes_over(task, games.rank_of[e]) <= 0) fitting.push_back(e);
  }
  std::ranges::stable_sort(fitting, {}, [&](std::size_t e) { return games.cost[e]; });
  return fitting;
}

int highest_score(std::span<const float> scores) {
  return static_cast<int>(std::ranges::max_element(scores) - scores.begin());
}

constexpr const char* kPlacingSchema = "shardsim.dreamshard_policy/1";

}  // namespace

PlacementTask placement_task(const Workload& workload, const Cluster& cluster, const PlannerContext& context,
                             const std::string& provider) {
  PlacementTask task{sharding_task(workload, cluster, context, provider), {}, {}};
  const auto scale = std::make_shared<PlacementScale>(workload, cluster, context);
  task.measure = [scale](std::span<const int> rank_of) { return scale->costs(rank_of); };
  task.measure_all = [scale](std::span<const int> rank_of) { return scale->whole(rank_of).all; };
  return task;
}

PlacedGames play_games(const PlacingPolicy& policy, const ShardingTask& task, int count, bool learned_from,
                       const GameChoice& choice) {
  PlacingGame game(policy, task, count, learned_from);
  for (int step = 0; step < task.tables(); ++step) game.step(step, choice);
  return game.take();
}

GamePlan best_of_games(const PlacingPolicy& policy, const PlacementTask& task, const GameCounts& counts,
                       std::uint64_t seed) {
  if (task.tables() == 0) return {};
  Rng rng(seed);
  const PlacedGames games =
      play_games(policy, task, counts.samples + 1, false, [&](int episode, std::span<const float> scores) {
        return episode == 0 ? highest_score(scores) : drawn_rank(scores, rng);
      });
  const std::vector<std::size_t> fitting = fitting_games(games, task);
  std::size_t best = fitting.empty() ? 0 : fitting.front();
  if (counts.measured > 0 && !fitting.empty()) {
    const auto tried = std::span(fitting).first(std::min(fitting.size(), static_cast<std::size_t>(counts.measured)));
    best = *std::ranges::min_element(tried, {}, [&](std::size_t e) { return task.measure_all(games.rank_of[e]); });
  }
  return {games.rank_of[best], games.cost[best] * policy.unit_seconds};
}

void save_placing_policy(const PlacingPolicy& policy, const std::filesystem::path& path) {
  Hdf5Writer file;
  write_trained_on(file, kPlacingSchema, policy);
  file.attribute<std::int64_t>("/", "measured", policy.measured);
  file.attribute<double>("/", "cost_error", policy.cost_error);
  const auto write = [&](const std::string& net, const std::vector<float>& parameters, const std::string& meaning) {
    file.scale<std::int32_t>("/" + net + "_parameter", parameters.size(), {"1", "number of the parameter"},
                             Hdf5Layout::packed);
    file.dataset<float>("/" + net + "_parameters", parameters, {"/" + net + "_parameter"}, {"1", meaning});
  };
  write("cost", policy.costs, "parts and their order: plan/dreamshard/placement_net.cpp");
  write("choice", policy.choices, "parts and their order: plan/dreamshard/placing_net.cpp");
  file.save(path);
}

PlacingPolicy read_placing_policy(const std::filesystem::path& file, const std::string& provider) {
  const LearnedFile learned(file);
  PlacingPolicy policy;
  read_trained_on(learned, kPlacingSchema, provider, policy);
  policy.measured = learned.count("measured");
  policy.cost_error = learned.hdf5.real_attribute("/", "cost_error");
  if (!(policy.cost_error >= 0 && std::isfinite(policy.cost_error)))
    learned.hdf5.refuse("its cost_error is not at least 0");
  // Every size is checked against what the nets need.
  const auto features = static_cast<int>(policy.used.size());
  policy.costs = learned.reals("/cost_parameters", PlacementNet<float>(features).parameter_count());
  policy.choices = learned.reals("/choice_parameters", PlacingNet<float>(features).parameter_count());
  return policy;
}

}  // namespace shardsim
