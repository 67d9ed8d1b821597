#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/rng.h"

namespace shardsim {

// Options for fitting nets. The values are our choice: the papers' recipe (Adam at 1e-3, batches of 512, 1,000 epochs)
// takes an hour of CPU for the accuracy that these values reach in half a minute (models/learned/README.md).
struct TrainingOptions {
  std::uint64_t seed = 1;
  int epochs = 0;       // 0: some 16,000 steps of shards, 32,000 of exchanges
  int batch = 0;        // 0: 16 of few labels, else 64 shards or 128 exchanges
  double rate = 4e-3;   // of Adam at its highest: it rises over the first part and falls to 0 as a cosine
  double rising = 0.1;  // part of the steps
  double decay = 0;     // of the parameters in a step, in units of the rate (AdamW; Loshchilov, Hutter, ICLR 2019)
  double validation_share = 0.1;  // of the samples given, drawn by the seed; 0: none, the last epoch is kept
};

// Something with float parameters and a loss over samples.
class Trainable {
 public:
  virtual ~Trainable() = default;
  virtual std::size_t parameter_count() const = 0;
  virtual void initialise(std::span<float> parameters, Rng& rng) const = 0;
  // The mean loss over those samples; its gradient is added to `gradient` unless that is empty.
  virtual double loss(std::span<const float> parameters, std::span<const int> samples, std::span<float> gradient) = 0;
};

// Called after each epoch; may throw to end the training.
using TrainingWatch = std::function<void(int epoch, double validation_loss)>;

struct Trained {
  std::vector<float> parameters;  // those of the least validation loss
  double validation_loss = 0;
  int epoch = 0;  // that they are of, from 1
};

// Fits by Adam (betas 0.9 and 0.999, eps 1e-8). Same samples, same seed, same bits. Errors (Failure::input):
// fewer than two samples. Errors (Failure::run): no epoch whose validation loss is finite.
Trained train(Trainable& net, std::vector<int> samples, const TrainingOptions& options,
              const TrainingWatch& watch = {});

// Adam's state for one list of parameters (Kingma, Ba: Adam, ICLR 2015, algorithm 1).
class Adam {
 public:
  explicit Adam(std::size_t count) : mean_(count), square_(count) {}
  void step(std::span<float> parameters, std::span<const float> gradient, double rate);

 private:
  std::vector<float> mean_, square_;
  int steps_ = 0;
};

// The list in an order drawn from `rng` (Fisher and Yates).
void shuffle(std::vector<int>& list, Rng& rng);

}  // namespace shardsim
