#include <doctest/doctest.h>

#include <array>

#include "plan/dreamshard/placement_net.h"
#include "plan/dreamshard/placing_net.h"

namespace shardsim::dreamshard_nets_test {

namespace {

PlacementSets<double> small_sets(Rng& rng) {
  PlacementSets<double> sets;
  sets.features = 5;
  for (int i = 0; i < 6 * sets.features; ++i) sets.pieces.push_back(2 * rng.uniform() - 1);
  for (const int ranks : {2, 3}) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int piece = 0; piece < 6; ++piece)
        if (rng.below(3) == 0) sets.members.push_back(piece);
      sets.begins.push_back(sets.members.size());
    }
    sets.first.push_back(sets.shards());
  }
  return sets;
}

// How many of the parameters looked at have another slope than `gradient` says; a ReLU or a maximum may bend inside the
// step, once in a while.
int bent_slopes(std::vector<double>& parameters, const std::vector<double>& gradient, const auto& value) {
  int bent = 0;
  for (std::size_t i = 0; i < parameters.size(); i += 53) {
    const double before = parameters[i], step = 1e-6;
    parameters[i] = before + step;
    const double above = value();
    parameters[i] = before - step;
    const double below = value();
    parameters[i] = before;
    if (gradient[i] != doctest::Approx((above - below) / (2 * step)).epsilon(1e-5).scale(1e-2)) ++bent;
  }
  return bent;
}

PlacingEpisodes<double> small_episodes(Rng& rng) {
  PlacingEpisodes<double> episodes;
  episodes.tables = 4, episodes.ranks = 3, episodes.count = 2;
  for (int i = 0; i < 4 * 5; ++i) episodes.values.push_back(2 * rng.uniform() - 1);
  for (int i = 0; i < episodes.steps(); ++i) episodes.rank_of.push_back(static_cast<int>(rng.below(3)));
  for (int i = 0; i < episodes.steps() * 3 * 3; ++i) episodes.costs.push_back(rng.uniform());
  return episodes;
}

}  // namespace

TEST_CASE("DreamShard's nets have the parameters that the published layers make") {
  // models.py of daochenzha/dreamshard at 73128ed: fc layers 21-128-32, four heads 32-64-1; 21-128-32, 3-64-32, 64-1.
  const std::size_t tables = 21 * 128 + 128 + 128 * 32 + 32;
  CHECK(PlacementNet<float>(21).parameter_count() == tables + 4 * (32 * 64 + 64 + 64 + 1));
  CHECK(PlacingNet<float>(21).parameter_count() == tables + 3 * 64 + 64 + 64 * 32 + 32 + 64 + 1);
}

TEST_CASE("gradients of the cost network are those of finite differences") {
  Rng rng(3);
  const PlacementSets<double> sets = small_sets(rng);
  const PlacementNet<double> net(sets.features);
  std::vector<double> parameters(net.parameter_count());
  net.initialise(parameters, rng);
  std::array<std::vector<double>, 3> of_costs;
  std::vector<double> of_all;
  for (std::vector<double>& of_cost : of_costs)
    for (std::size_t i = 0; i < sets.shards(); ++i) of_cost.push_back(2 * rng.uniform() - 1);
  for (std::size_t i = 0; i < sets.placements(); ++i) of_all.push_back(2 * rng.uniform() - 1);
  PlacementNet<double>::Pass pass;
  net.forward(parameters, sets, pass);
  std::vector<double> gradient(parameters.size(), 0.0);
  net.backward(parameters, sets, pass, of_costs, of_all, gradient);
  const int bent = bent_slopes(parameters, gradient, [&] {
    PlacementNet<double>::Pass again;
    net.forward(parameters, sets, again);
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t i = 0; i < sets.shards(); ++i) sum += of_costs[k][i] * again.costs[k].back()[i];
    for (std::size_t i = 0; i < sets.placements(); ++i) sum += of_all[i] * again.all.back()[i];
    return sum;
  });
  CHECK(bent <= 2);
}

TEST_CASE("gradients of the policy that places are those of finite differences") {
  Rng rng(7);
  const PlacingEpisodes<double> episodes = small_episodes(rng);
  const PlacingNet<double> net(5);
  std::vector<double> parameters(net.parameter_count());
  net.initialise(parameters, rng);
  std::vector<double> of_scores;
  for (int i = 0; i < episodes.steps() * 3; ++i) of_scores.push_back(2 * rng.uniform() - 1);
  PlacingNet<double>::Pass pass;
  net.forward(parameters, episodes, pass);
  std::vector<double> gradient(parameters.size(), 0.0);
  net.backward(parameters, episodes, pass, of_scores, gradient);
  const int bent = bent_slopes(parameters, gradient, [&] {
    PlacingNet<double>::Pass again;
    net.forward(parameters, episodes, again);
    double sum = 0;
    for (std::size_t i = 0; i < of_scores.size(); ++i) sum += of_scores[i] * again.scores.back()[i];
    return sum;
  });
  CHECK(bent <= 2);
}

TEST_CASE("scores of games that are played are those of the net that learns from them") {
  Rng rng(13);
  const PlacingEpisodes<double> episodes = small_episodes(rng);
  const PlacingNet<double> net(5);
  std::vector<double> parameters(net.parameter_count());
  net.initialise(parameters, rng);
  PlacingNet<double>::Pass pass;
  net.forward(parameters, episodes, pass);
  constexpr std::size_t kWidth = PlacingNet<double>::kVector;
  const std::vector<double> vectors = net.vectors(parameters, episodes.values);
  std::vector<double> sums(6 * kWidth, 0.0);
  for (std::size_t step = 0; step < 4; ++step) {
    const auto costs = std::span<const double>(episodes.costs).subspan(step * 18, 18);
    const std::vector<double> scores = net.scores(parameters, sums, costs);
    for (std::size_t i = 0; i < 6; ++i) CHECK(scores[i] == doctest::Approx(pass.scores.back()[step * 6 + i]));
    for (std::size_t e = 0; e < 2; ++e)
      for (std::size_t k = 0; k < kWidth; ++k)
        sums[(e * 3 + static_cast<std::size_t>(episodes.rank_of[step * 2 + e])) * kWidth + k] +=
            vectors[step * kWidth + k];
  }
}

TEST_CASE("the cost of a placement is that of its largest shards, in any order of ranks") {
  Rng rng(9);
  PlacementSets<double> sets = small_sets(rng);
  const PlacementNet<double> net(sets.features);
  std::vector<double> parameters(net.parameter_count());
  net.initialise(parameters, rng);
  PlacementNet<double>::Pass pass;
  net.forward(parameters, sets, pass);
  const std::span<const double> sums(pass.sums);
  constexpr std::size_t kWidth = PlacementNet<double>::kVector;
  CHECK(net.placement_cost(parameters, sums.first(2 * kWidth)) == doctest::Approx(pass.all.back()[0]));
  std::vector<double> turned(sums.begin() + kWidth, sums.begin() + 2 * kWidth);
  turned.insert(turned.end(), sums.begin(), sums.begin() + kWidth);
  CHECK(net.placement_cost(parameters, turned) == doctest::Approx(pass.all.back()[0]));
  const std::vector<double> costs = net.shard_costs(parameters, sums);
  CHECK(costs[4] == doctest::Approx(pass.costs[1].back()[1]));
}

}  // namespace shardsim::dreamshard_nets_test
