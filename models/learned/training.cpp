#include "models/learned/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"

namespace shardsim {
namespace {

constexpr int kValidationBatch = 1024;

struct Parts {
  std::vector<int> train, validation;
};

Parts cut(std::vector<int> samples, double share, Rng& rng) {
  if (samples.size() < 2)
    throw input_error({"training"}, fmt::format("{} labelled samples to train on", samples.size()),
                      "Give two or more; a useful model takes hundreds");
  shuffle(samples, rng);
  const auto wanted = static_cast<std::size_t>(share * static_cast<double>(samples.size()));
  const auto first = samples.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(share > 0 ? 1 : 0, wanted));
  return {{first, samples.end()}, {samples.begin(), first}};
}

double rate_at(double done, const TrainingOptions& options) {
  if (done < options.rising) return options.rate * done / options.rising;
  const double falling = (done - options.rising) / (1 - options.rising);
  return options.rate * 0.5 * (1 + std::cos(std::numbers::pi * falling));
}

double mean_loss(Trainable& net, std::span<const float> parameters, std::span<const int> samples) {
  double sum = 0;
  for (std::size_t at = 0; at < samples.size(); at += kValidationBatch) {
    const auto part = samples.subspan(at, std::min<std::size_t>(kValidationBatch, samples.size() - at));
    sum += net.loss(parameters, part, {}) * static_cast<double>(part.size());
  }
  return sum / static_cast<double>(samples.size());
}

// One training run: its state between epochs.
class Run {
 public:
  Run(Trainable& net, const Parts& parts, const TrainingOptions& options, Rng& rng)
      : net_(net), parts_(parts), options_(options), rng_(rng), order_(parts.train), adam_(net.parameter_count()) {
    parameters_.resize(net.parameter_count());
    net.initialise(parameters_, rng);
    const std::size_t batches = (order_.size() + batch() - 1) / batch();
    all_steps_ = static_cast<double>(batches) * options.epochs;
  }

  double epoch() {
    shuffle(order_, rng_);
    const std::span<const int> all(order_);
    for (std::size_t at = 0; at < all.size(); at += batch()) step(all.subspan(at, std::min(batch(), all.size() - at)));
    return mean_loss(net_, parameters_, parts_.validation.empty() ? parts_.train : parts_.validation);
  }

  const std::vector<float>& parameters() const { return parameters_; }

 private:
  std::size_t batch() const { return static_cast<std::size_t>(options_.batch); }

  void step(std::span<const int> samples) {
    gradient_.assign(parameters_.size(), 0);
    net_.loss(parameters_, samples, gradient_);
    const double rate = rate_at(++steps_ / all_steps_, options_);
    if (options_.decay > 0)
      for (float& parameter : parameters_) parameter *= static_cast<float>(1 - rate * options_.decay);
    adam_.step(parameters_, gradient_, rate);
  }

  Trainable& net_;
  const Parts& parts_;
  const TrainingOptions& options_;
  Rng& rng_;
  std::vector<int> order_;
  Adam adam_;
  std::vector<float> parameters_, gradient_;
  double steps_ = 0, all_steps_ = 1;
};

}  // namespace

void shuffle(std::vector<int>& list, Rng& rng) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[rng.below(i)]);
}

void Adam::step(std::span<float> parameters, std::span<const float> gradient, double rate) {
  constexpr float kMean = 0.9F, kSquare = 0.999F, kSmall = 1e-8F;
  ++steps_;
  const auto size = static_cast<float>(rate / (1 - std::pow(0.9, steps_)));
  const auto correction = static_cast<float>(1 / (1 - std::pow(0.999, steps_)));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    mean_[i] += (1 - kMean) * (gradient[i] - mean_[i]);
    square_[i] += (1 - kSquare) * (gradient[i] * gradient[i] - square_[i]);
    parameters[i] -= size * mean_[i] / (std::sqrt(square_[i] * correction) + kSmall);
  }
}

Trained train(Trainable& net, std::vector<int> samples, const TrainingOptions& options, const TrainingWatch& watch) {
  Rng rng(options.seed);
  const Parts parts = cut(std::move(samples), options.validation_share, rng);
  Run run(net, parts, options, rng);
  Trained best{{}, std::numeric_limits<double>::infinity(), 0};
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    const double loss = run.epoch();
    const bool is_better = loss < best.validation_loss || (parts.validation.empty() && std::isfinite(loss));
    if (is_better) best = {run.parameters(), loss, epoch};
    if (watch) watch(epoch, loss);
  }
  if (best.epoch == 0) throw run_error("no epoch of the training has a finite loss", "Lower --rate");
  return best;
}

}  // namespace shardsim
