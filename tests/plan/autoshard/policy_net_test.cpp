#include "plan/autoshard/policy_net.h"

#include <doctest/doctest.h>

namespace shardsim::policy_net_test {

namespace {

Episodes<double> small_episodes(Rng& rng) {
  Episodes<double> episodes;
  episodes.tables = 4, episodes.ranks = 3, episodes.count = 2, episodes.features = 5;
  for (int i = 0; i < episodes.steps() * episodes.features; ++i) episodes.values.push_back(2 * rng.uniform() - 1);
  for (int i = 0; i < episodes.steps(); ++i) episodes.rank_of.push_back(static_cast<int>(rng.below(3)));
  for (int i = 0; i < episodes.steps() * episodes.ranks * 2; ++i) episodes.loads.push_back(rng.uniform());
  return episodes;
}

void play_through(const PolicyNet<double>& net, const std::vector<double>& parameters, const Episodes<double>& episodes,
                  PolicyNet<double>::Pass& pass) {
  net.start(parameters, episodes, pass);
  for (int step = 0; step < episodes.tables; ++step) {
    net.offer(parameters, episodes, step, pass);
    net.place(episodes, step, pass);
  }
  net.finish(parameters, pass);
}

double weighed(const PolicyNet<double>& net, const std::vector<double>& parameters, const Episodes<double>& episodes,
               const std::vector<double>& of_logits, const std::vector<double>& of_values) {
  PolicyNet<double>::Pass pass;
  play_through(net, parameters, episodes, pass);
  double sum = 0;
  for (std::size_t i = 0; i < of_logits.size(); ++i) sum += of_logits[i] * pass.logits.back()[i];
  for (std::size_t i = 0; i < of_values.size(); ++i) sum += of_values[i] * pass.value.back()[i];
  return sum;
}

}  // namespace

TEST_CASE("the cost model has the parameters that the published layers make") {
  // 21-128-32 of a table and 32-64-1 of a shard (daochenzha/autoshard training.py at e861ecb).
  CHECK(PolicyNet<float>(21).costs().parameter_count() == 21 * 128 + 128 + 128 * 32 + 32 + 32 * 64 + 64 + 64 + 1);
}

TEST_CASE("gradients of the policy net are those of finite differences" * doctest::test_suite("long")) {
  Rng rng(11);
  const Episodes<double> episodes = small_episodes(rng);
  const PolicyNet<double> net(episodes.features);
  std::vector<double> parameters(net.parameter_count());
  net.initialise(parameters, rng);
  std::vector<double> of_logits, of_values;
  for (int i = 0; i < episodes.steps() * episodes.ranks; ++i) of_logits.push_back(2 * rng.uniform() - 1);
  for (int i = 0; i < episodes.steps(); ++i) of_values.push_back(2 * rng.uniform() - 1);
  PolicyNet<double>::Pass pass;
  play_through(net, parameters, episodes, pass);
  std::vector<double> gradient(parameters.size(), 0.0);
  net.backward(parameters, episodes, pass, of_logits, of_values, gradient);
  // Every 97th parameter: some of every part. A ReLU may bend inside the step, once in a while.
  int bent = 0, looked = 0, moved = 0;
  for (std::size_t i = 0; i < parameters.size(); i += 97, ++looked) {
    const double before = parameters[i], step = 1e-6;
    parameters[i] = before + step;
    const double above = weighed(net, parameters, episodes, of_logits, of_values);
    parameters[i] = before - step;
    const double below = weighed(net, parameters, episodes, of_logits, of_values);
    parameters[i] = before;
    const double slope = (above - below) / (2 * step);
    if (gradient[i] != doctest::Approx(slope).epsilon(1e-5).scale(1e-2)) ++bent;
    if (gradient[i] != 0) ++moved;
  }
  CHECK(looked > 1000);
  CHECK(moved > looked / 2);
  CHECK(bent <= 2);
}

TEST_CASE("a rank's logit knows what lies on it, and the table of zeros is nobody's") {
  Rng rng(5);
  Episodes<double> episodes = small_episodes(rng);
  const PolicyNet<double> net(episodes.features);
  std::vector<double> parameters(net.parameter_count());
  net.initialise(parameters, rng);
  for (double& load : episodes.loads) load = 0;
  PolicyNet<double>::Pass pass;
  net.start(parameters, episodes, pass);
  const auto first = net.offer(parameters, episodes, 0, pass);
  CHECK(first[0] == doctest::Approx(first[2]));  // all ranks are empty
  net.place(episodes, 0, pass);
  const auto second = net.offer(parameters, episodes, 1, pass);
  const int taken = episodes.rank_of[0], other = (taken + 1) % 3, another = (taken + 2) % 3;
  CHECK(second[static_cast<std::size_t>(other)] == doctest::Approx(second[static_cast<std::size_t>(another)]));
  CHECK(second[static_cast<std::size_t>(taken)] != doctest::Approx(second[static_cast<std::size_t>(other)]));
}

}  // namespace shardsim::policy_net_test
