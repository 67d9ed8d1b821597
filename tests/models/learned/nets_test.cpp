#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "models/learned/cost_model.h"
#include "models/learned/dense_stack.h"
#include "models/learned/factor_net.h"
#include "models/learned/shard_net.h"
#include "models/learned/training.h"

// Gradients against central differences, in double so that nothing hides in rounding; parameter counts of the papers.

namespace shardsim::nets_test {
namespace {

std::vector<double> drawn(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<double> values(count);
  for (double& value : values) value = 2 * rng.uniform() - 1;
  return values;
}

// Largest difference between a gradient and central differences of `loss`, over every `stride`th parameter.
double worst_gradient(std::vector<double> at, const std::vector<double>& gradient, std::size_t stride,
                      const auto& loss) {
  constexpr double kStep = 1e-6;
  double worst = 0;
  for (std::size_t i = 0; i < at.size(); i += stride) {
    const double kept = at[i];
    at[i] = kept + kStep;
    const double above = loss(at);
    at[i] = kept - kStep;
    const double below = loss(at);
    at[i] = kept;
    worst = std::max(worst, std::abs((above - below) / (2 * kStep) - gradient[i]));
  }
  return worst;
}

double weighted_sum(const std::vector<double>& values, const std::vector<double>& weights) {
  return std::inner_product(values.begin(), values.end(), weights.begin(), 0.0);
}

}  // namespace

TEST_CASE("dense stack: worked by hand") {
  const DenseStack<double> stack({{2, 2, true}, {2, 1, false}});
  // hidden = relu([1 -1; 2 0] x + [0 -3]), out = 10 h0 + 100 h1 + 1; weights of one input together.
  const std::vector<double> parameters{1, 2, -1, 0, 0, -3, 10, 100, 1};
  REQUIRE(stack.parameter_count() == 9);
  DenseStack<double>::Outputs outputs;
  stack.forward(parameters, std::vector<double>{3, 1, 1, 5}, outputs);
  CHECK(outputs.back() == std::vector<double>{10 * 2 + 100 * 3 + 1, 1});  // second sample: (-4, -1) is cut to 0
}

TEST_CASE("dense stack: backward pass by finite differences") {
  const DenseStack<double> stack({{5, 7, true}, {7, 4, true}, {4, 3, false}});
  const std::vector<double> parameters = drawn(stack.parameter_count(), 1), inputs = drawn(5 * 6, 2);
  const std::vector<double> weights = drawn(3 * 6, 3);
  const auto loss = [&](const std::vector<double>& at, const std::vector<double>& in) {
    DenseStack<double>::Outputs outputs;
    stack.forward(at, in, outputs);
    return weighted_sum(outputs.back(), weights);
  };
  DenseStack<double>::Outputs outputs;
  stack.forward(parameters, inputs, outputs);
  std::vector<double> gradient(parameters.size()), of_inputs;
  stack.backward(parameters, inputs, outputs, weights, gradient, &of_inputs);
  CHECK(worst_gradient(parameters, gradient, 1, [&](const auto& at) { return loss(at, inputs); }) < 1e-7);
  CHECK(worst_gradient(inputs, of_inputs, 1, [&](const auto& in) { return loss(parameters, in); }) < 1e-7);
}

TEST_CASE("shard net: backward pass by finite differences, with shared and repeated pieces") {
  const ShardNet<double> net(20);
  PieceSets<double> set;
  set.features = 20;
  set.pieces = drawn(20 * 5, 4);
  const std::vector<std::vector<int>> shards{{0, 1}, {1, 1, 4}, {}, {2}, {0, 1, 2, 3, 4}};
  for (const auto& shard : shards) set.add(shard);
  const std::vector<int> samples{1, 0, 4, 2};  // piece 3 by the last shard alone, shard 3 not at all
  std::vector<double> parameters(net.parameter_count());
  Rng rng(5);
  net.initialise(parameters, rng);
  const std::vector<double> weights{1, -2, 0.5, 3};
  const auto loss = [&](const std::vector<double>& at) {
    ShardNet<double>::Pass pass;
    net.forward(at, set, samples, pass);
    return weighted_sum(pass.head.back(), weights);
  };
  ShardNet<double>::Pass pass;
  net.forward(parameters, set, samples, pass);
  std::vector<double> gradient(parameters.size());
  net.backward(parameters, set, samples, pass, weights, gradient);
  CHECK(worst_gradient(parameters, gradient, 13, loss) < 1e-7);
}

TEST_CASE("factor net: worked by hand") {
  const FactorNet<double> net(FactorShape{2});
  PieceSets<double> set;
  set.features = 2;
  set.pieces = {1, 0, 0, 1};
  set.amounts.assign(2 * PieceAmounts::kCount, 1);
  set.amounts[PieceAmounts::work] = 3;
  set.amounts[PieceAmounts::kCount + PieceAmounts::work] = 5;
  set.amounts[PieceAmounts::kCount + PieceAmounts::lookups] = 3;
  set.add(std::vector<int>{0, 1, 1});
  // The first of the tables' hidden numbers is the first feature, and its logarithmic factor log 2 times that; the head
  // adds half of the logarithm of all lookups.
  std::vector<double> parameters(net.parameter_count());
  parameters[0] = 1;
  parameters[static_cast<std::size_t>(net.shape().table_hidden) * 3] = std::log(2.0);
  double* const head = parameters.data() + net.tables().parameter_count();
  const auto hidden = static_cast<std::size_t>(net.shape().head_hidden);
  head[hidden * PieceAmounts::lookups] = 1;
  head[hidden * (net.shape().amounts + 1)] = 0.5;
  FactorNet<double>::Pass pass;
  net.forward(parameters, set, std::vector<int>{0}, pass);
  CHECK(std::exp(pass.outputs[0]) == doctest::Approx((2 * 3 + 5 + 5) * std::sqrt(7.0)));
}

TEST_CASE("factor net: backward pass by finite differences, with shared and repeated pieces") {
  const FactorNet<double> net(FactorShape{5});
  PieceSets<double> set;
  set.features = 5;
  set.pieces = drawn(5 * 4, 4);
  for (const double value : drawn(4 * PieceAmounts::kCount, 6)) set.amounts.push_back(1.5 + value);
  for (const auto& shard : std::vector<std::vector<int>>{{0, 1}, {1, 1, 3}, {2}, {0, 1, 2, 3}}) set.add(shard);
  const std::vector<int> samples{1, 0, 3};
  std::vector<double> parameters(net.parameter_count());
  Rng rng(5);
  net.initialise(parameters, rng);
  const std::vector<double> weights{1, -2, 0.5};
  const auto loss = [&](const std::vector<double>& at) {
    FactorNet<double>::Pass pass;
    net.forward(at, set, samples, pass);
    return weighted_sum(pass.outputs, weights);
  };
  FactorNet<double>::Pass pass;
  net.forward(parameters, set, samples, pass);
  std::vector<double> gradient(parameters.size());
  net.backward(parameters, set, samples, pass, weights, gradient);
  CHECK(worst_gradient(parameters, gradient, 1, loss) < 1e-7);
}

TEST_CASE("parameter counts of the published nets") {
  // 20 x 128 + 128 + 128 x 32 + 32 + 32 x 64 + 64 + 64 + 1 and so on, from the layer sizes of models.py at
  // daochenzha/neuroshard ec7ca74 and daochenzha/autoshard e861ecb.
  CHECK(ShardNet<float>(20).parameter_count() == 8'993);
  CHECK(ShardNet<float>(21).parameter_count() == 9'121);
  CHECK(DenseStack<float>(exchange_layers(8, 4)).parameter_count() == 12'084);
  CHECK(DenseStack<float>(exchange_layers(16, 8)).parameter_count() == 13'176);
  CHECK(DenseStack<float>(exchange_layers(4, 4)).parameter_count() == 11'572);
  CHECK(DenseStack<float>(exchange_layers(8, 8)).parameter_count() == 12'152);
}

TEST_CASE("Adam: its first steps worked by hand") {
  // Kingma, Ba, algorithm 1: the first step is the rate whatever the gradient's size, less eps; a second one of the
  // same gradient is, too.
  Adam adam(2);
  std::vector<float> at{1, 1};
  adam.step(at, std::vector<float>{0.5F, -200}, 0.1);
  CHECK(at[0] == doctest::Approx(0.9));
  CHECK(at[1] == doctest::Approx(1.1));
  adam.step(at, std::vector<float>{0.5F, 0}, 0.1);
  CHECK(at[0] == doctest::Approx(0.8));
  // mean 0.9 x 0.1 x -200 / 0.19, square 0.999 x 0.001 x 40000 / 0.001999
  CHECK(at[1] == doctest::Approx(1.1 + 0.1 * (18 / 0.19) / std::sqrt(39.96 / 0.001999)));
}

namespace {

// Distance to a point, to see what training does.
class Bowl final : public Trainable {
 public:
  std::size_t parameter_count() const override { return 2; }
  void initialise(std::span<float> parameters, Rng& rng) const override {
    for (float& parameter : parameters) parameter = static_cast<float>(rng.uniform());
  }
  double loss(std::span<const float> at, std::span<const int> samples, std::span<float> gradient) override {
    const float a = at[0] - 3, b = at[1] + 1;
    if (!gradient.empty()) {
      gradient[0] += 2 * a;
      gradient[1] += 2 * b;
      trained += samples.size();
    }
    return static_cast<double>(a * a + b * b);
  }
  std::size_t trained = 0;
};

}  // namespace

TEST_CASE("training: finds the least loss, looks at each sample once an epoch, keeps the best epoch") {
  Bowl bowl;
  std::vector<int> samples(100);
  std::iota(samples.begin(), samples.end(), 0);
  TrainingOptions options;
  options.epochs = 60;
  options.batch = 8;
  options.rate = 0.05;
  std::vector<double> losses;
  const Trained trained = train(bowl, samples, options, [&](int, double loss) { losses.push_back(loss); });
  CHECK(trained.parameters[0] == doctest::Approx(3).epsilon(1e-3));
  CHECK(trained.parameters[1] == doctest::Approx(-1).epsilon(1e-3));
  CHECK(bowl.trained == 60 * 90);  // a tenth validates
  CHECK(trained.validation_loss == *std::min_element(losses.begin(), losses.end()));
  CHECK(trained.validation_loss == losses[static_cast<std::size_t>(trained.epoch - 1)]);
}

TEST_CASE("training: decay pulls parameters towards 0, where Adam's steps of one rate no longer outweigh it") {
  Bowl bowl;
  TrainingOptions options;
  options.epochs = 400;
  options.batch = 8;
  options.rate = 0.05;
  options.validation_share = 0;  // the last epoch is kept
  options.decay = 0.5;           // of 2 as much as a step
  const Trained trained = train(bowl, {0, 1, 2, 3, 4, 5, 6, 7}, options);
  CHECK(trained.parameters[0] < 2.5F);
  CHECK(trained.parameters[0] > 1.5F);
}

}  // namespace shardsim::nets_test
