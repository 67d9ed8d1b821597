#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/learned/exchange_inputs.h"
#include "models/learned/fit.h"
#include "models/learned/shard_net.h"

namespace shardsim {

// The labelled shards that are not held back, of all sets, with their pieces' features.
class ShardData {
 public:
  // Errors (Failure::input): no label that may be fitted; a label that is no time.
  ShardData(const std::vector<ShardSet>& sets, FeatureLayout layout, int row_alignment);

  FittedNet fit(bool forward, const TrainingOptions& options, const TrainingWatch& watch) const;

  const InputScale& scale() const { return scale_; }
  std::uint64_t hash() const { return hash_.value(); }
  std::int64_t labels() const { return static_cast<std::int64_t>(forward_.size()); }

 private:
  FittedNet fit_factors(const std::vector<double>& seconds, const TrainingOptions& options,
                        const TrainingWatch& watch) const;
  double usual_seconds_of_work(const std::vector<double>& seconds) const;
  // A piece, its lines and its place: shards share what is alike.
  using Place = std::pair<ShardPiece, std::array<double, 4>>;

  void add(const ShardSet& set);
  void add(const ShardSet& set, std::size_t shard, const std::string& shape);
  int place_of(const ShardPiece& piece, const CallPiece& as_seen);

  FeatureLayout layout_;
  int row_alignment_;
  PieceSets<float> pieces_;
  InputScale scale_;
  std::vector<double> forward_, backward_;
  std::vector<TableStatistics> statistics_;  // of the set that is being added
  std::map<Place, int> places_;              // likewise
  int count_ = 0;
  DataHash hash_;
};

// The labelled exchanges of one set that are not held back.
class ExchangeData {
 public:
  // Keeps a reference to the set. Errors (Failure::input): no label that may be fitted; a label that is no time.
  explicit ExchangeData(const ExchangeSet& set);

  ExchangeModel fit(const TrainingOptions& options, const FitWatch& watch) const;
  void add_to(DataHash& hash) const;

 private:
  void add(const Exchange& exchange, const ExchangeSeconds& label);
  FittedNet fit(const std::vector<float>& inputs, const std::vector<double>& seconds, bool forward,
                const TrainingOptions& options, const TrainingWatch& watch) const;
  TrainingWatch told(const char* direction, const FitWatch& watch) const;

  const ExchangeSet& set_;
  ExchangeInputs form_;
  std::vector<float> inputs_;
  std::vector<double> forward_, backward_;
  int count_ = 0;
};

}  // namespace shardsim
