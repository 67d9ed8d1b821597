#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/learned/dense_stack.h"
#include "models/learned/label_sets.h"
#include "models/learned/training.h"

namespace shardsim {

// The means and deviations by which the inputs of a net are normalised.
struct InputScale {
  std::vector<float> means, deviations;
  void apply(std::span<float> inputs) const;  // [samples x inputs]
  bool operator==(const InputScale&) const = default;
};

// seconds = mean + deviation x what the net says.
struct OutputScale {
  double mean = 0, deviation = 1;
  bool operator==(const OutputScale&) const = default;
};

// One fitted net: parameters of a ShardNet, of a FactorNet (whose output is a logarithm: seconds = deviation x
// exp(output), the mean is 0), or of a DenseStack of exchange_layers().
struct FittedNet {
  std::vector<float> parameters;
  OutputScale output;
  double validation_loss = 0;  // mean square, in units of `output`
  int epoch = 0;               // that the parameters are of
  bool operator==(const FittedNet&) const = default;
};

// The exchanges of the ranks of one node.
struct ExchangeModel {
  int ranks = 4;
  std::int64_t batch = 0;
  std::string topology;  // the cluster that the labels are of
  InputScale inputs;     // columns of each rank, then starts in ms; the backward net takes the columns alone
  FittedNet forward, backward;
  bool operator==(const ExchangeModel&) const = default;
};

// Layers of an exchange's net: inputs-128-64-32-16-ranks (models.py at daochenzha/neuroshard ec7ca74); the inputs of
// the forward one are 2 x ranks, of the backward one `ranks`.
std::vector<DenseLayerShape> exchange_layers(int inputs, int ranks);

// The number of parameters of the net of shards: a FactorNet's for the layouts `measured` and `batches`, else a
// ShardNet's.
std::size_t shard_parameters(FeatureLayout layout);

// All that a model file holds.
struct CostModel {
  LabelSetting setting;
  LearnedRange range;
  FeatureLayout layout = FeatureLayout::neuroshard;
  int row_alignment = 0;        // of the labels with the layout `batches`, as in ShardSet
  std::uint64_t seed = 1;       // of the training
  std::uint64_t data_hash = 0;  // of shards, exchanges and their labels
  LearnedEvidence evidence;
  InputScale features;  // in the order of feature_names(layout)
  FittedNet forward, backward;
  std::vector<ExchangeModel> exchanges;  // by rising ranks; may be empty
  bool operator==(const CostModel&) const = default;
};

// Who looks on: the net ("forward", "exchange 4 backward") and the epoch done. It may throw to stop.
using FitWatch = std::function<void(const std::string& net, int epoch, double validation_loss)>;

// Fits the two nets of shards, and two per set of exchanges, to the labels that are not held back. Same labels, same
// seed, same bits. Errors (Failure::input): sets of several providers, devices or settings (with the layout `batches`
// batches may differ); no labels; a label that is
// not finite or not above 0.
CostModel fit_cost_model(const std::vector<ShardSet>& shards, const std::vector<ExchangeSet>& exchanges,
                         const TrainingOptions& options, const FitWatch& watch = {},
                         FeatureLayout layout = FeatureLayout::neuroshard);
// That of the nets that suit such labels: the published one for labels in closed form, ours for measured times, with
// the batch as a feature where they are of several (0) or of FBGEMM.
FeatureLayout usual_layout(const LabelSetting& setting);

// HDF5, docs/formats/learned_models.md "Cost models". Written whole or not at all; the same model gives the same bytes.
void save_cost_model(const CostModel& model, const std::filesystem::path& file);
// Errors (Failure::input, naming file and object): no such file, cut off, another schema or feature layout, sizes that
// do not fit the nets, numbers that are not finite.
CostModel read_cost_model(const std::filesystem::path& file);

}  // namespace shardsim
