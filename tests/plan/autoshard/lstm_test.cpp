#include "plan/autoshard/lstm.h"

#include <doctest/doctest.h>

#include <cmath>

#include "plan/autoshard/exponential.h"

namespace shardsim::lstm_test {

namespace {

std::vector<double> drawn(std::size_t count, Rng& rng) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(2 * rng.uniform() - 1);
  return values;
}

// A loss that weighs every output of every step.
double weighed(const Lstm<double>& lstm, const std::vector<double>& parameters, const std::vector<double>& inputs,
               int sequences, const std::vector<double>& weights) {
  Lstm<double>::Pass pass;
  lstm.forward(parameters, inputs, sequences, pass);
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * pass.back().outputs[i];
  return sum;
}

}  // namespace

TEST_CASE("the exponential is the C library's to 1e-14") {
  for (double x = -40; x <= 40; x += 0.37) CHECK(exponential(x) / std::exp(x) == doctest::Approx(1).epsilon(1e-14));
  CHECK(exponential(0) == 1);
  CHECK(sigmoid(-1000) < 1e-300);
  CHECK(hyperbolic_tangent(0.5) == doctest::Approx(std::tanh(0.5)).epsilon(1e-14));
}

TEST_CASE("one unit over two steps is the textbook's cell") {
  const Lstm<double> lstm(1, 1, 1);
  REQUIRE(lstm.parameter_count() == 12);
  const std::vector<double> parameters{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, -0.1, -0.2, -0.3, -0.4};
  Lstm<double>::Pass pass;
  lstm.forward(parameters, std::vector<double>{1.0, -2.0}, 1, pass);
  double cell = 0, output = 0;
  for (const double x : {1.0, -2.0}) {
    const auto sum = [&](int k) {
      const auto at = static_cast<std::size_t>(k);
      return parameters[at] * x + parameters[4 + at] * output + parameters[8 + at];
    };
    const auto gate = [](double s) { return 1 / (1 + std::exp(-s)); };
    cell = gate(sum(1)) * cell + gate(sum(0)) * std::tanh(sum(2));
    output = gate(sum(3)) * std::tanh(cell);
  }
  CHECK(pass.back().outputs[1] == doctest::Approx(output).epsilon(1e-12));
}

TEST_CASE("gradients through time are those of finite differences") {
  Rng rng(3);
  const int inputs = 3, hidden = 4, sequences = 2, steps = 5;
  const Lstm<double> lstm(inputs, hidden, 2);
  std::vector<double> parameters(lstm.parameter_count());
  lstm.initialise(parameters, rng);
  std::vector<double> values = drawn(inputs * sequences * steps, rng);
  const std::vector<double> weights = drawn(hidden * sequences * steps, rng);
  Lstm<double>::Pass pass;
  lstm.forward(parameters, values, sequences, pass);
  std::vector<double> gradient(parameters.size(), 0.0);
  const std::vector<double> of_inputs = lstm.backward(parameters, values, sequences, pass, weights, gradient);
  const auto slope = [&](double& at) {
    const double before = at, step = 1e-6;
    at = before + step;
    const double above = weighed(lstm, parameters, values, sequences, weights);
    at = before - step;
    const double below = weighed(lstm, parameters, values, sequences, weights);
    at = before;
    return (above - below) / (2 * step);
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    CAPTURE(i);
    CHECK(gradient[i] == doctest::Approx(slope(parameters[i])).epsilon(1e-6).scale(1));
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(of_inputs[i] == doctest::Approx(slope(values[i])).epsilon(1e-6).scale(1));
}

}  // namespace shardsim::lstm_test
