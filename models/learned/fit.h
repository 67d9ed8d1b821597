#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "models/access/row_hash.h"
#include "models/learned/cost_model.h"

namespace shardsim {

// Code that the fits of shards and of exchanges share.

// The default steps of a training.
struct FitSteps {
  double count = 0;
  int batch = 0;  // where labels are not few
};

// The mean of weight x (output - target)^2, and its gradient per output where asked for. No weights: all 1.
double square_error(std::span<const float> outputs, std::span<const float> targets, std::span<const float> weights,
                    std::vector<float>* gradient);

// Means and deviations of [samples x width] inputs.
InputScale scale_of(const std::vector<float>& inputs, std::size_t width);
OutputScale output_scale_of(const std::vector<double>& seconds);
// Seconds as the net is to say them.
std::vector<float> scaled(const std::vector<double>& seconds, const OutputScale& scale);

// Trains on `samples` samples; options that are left open become `steps`, or fewer labels a step where labels are few.
FittedNet fitted(Trainable& net, int samples, const OutputScale& scale, const TrainingOptions& options,
                 const FitSteps& steps, const TrainingWatch& watch);

// The file of the labels, where they were read from one.
Place place_of_labels(const std::string& file);

// The fewest labels that can be fitted. A tenth of the labels chooses the epoch that is kept; with fewer labels than
// this, that choice means nothing, and a net with thousands of parameters hardly differs from its random start.
inline constexpr std::size_t kFewestFitted = 16;
// Errors (Failure::input at the file): fewer labels than that of `what` that may be fitted.
void check_label_count(std::size_t labels, const std::string& what, const std::string& file);

// Errors (Failure::input at `where`): a label that is not finite or not above 0.
void check_label(double seconds, const std::string& where);

// FNV-1a over the bits of what is given, in order.
class DataHash {
 public:
  void add(const std::string& text) { mix_in(fnv1a(text)); }
  void add(double number) { mix_in(std::bit_cast<std::uint64_t>(number)); }
  std::uint64_t value() const { return hash_; }

 private:
  void mix_in(std::uint64_t part) { hash_ = mix(hash_, part); }
  std::uint64_t hash_ = 0;
};

}  // namespace shardsim
