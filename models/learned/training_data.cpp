#include "models/learned/training_data.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "models/learned/factor_net.h"

namespace shardsim {
namespace {

constexpr FitSteps kShardSteps{16'000, 64}, kFactorSteps{4'000, 64}, kBatchSteps{30'000, 64};
constexpr double kBatchDecay = 0.1;  // without it, nets are lost beyond what the labels hold (README.md)
// Of a label: beyond it errors count by their size, not their square. Small calls on a GPU wait for their host now and
// then, and by half as long again, which is no error to follow.
constexpr float kSteady = 0.1F, kSteadyOfBatches = 0.02F;
constexpr double kLeastShare = 0.1;  // of the mean: labels below it count as if they were that large

// Values at some positions.
std::vector<float> at_positions(const std::vector<float>& values, std::span<const int> positions) {
  std::vector<float> result;
  for (const int position : positions) result.push_back(values[static_cast<std::size_t>(position)]);
  return result;
}

class FitsShards final : public Trainable {
 public:
  FitsShards(const PieceSets<float>& set, const std::vector<float>& targets, const std::vector<float>& weights)
      : set_(set), targets_(targets), weights_(weights), net_(set.features) {}

  std::size_t parameter_count() const override { return net_.parameter_count(); }
  void initialise(std::span<float> parameters, Rng& rng) const override { net_.initialise(parameters, rng); }

  double loss(std::span<const float> parameters, std::span<const int> samples, std::span<float> gradient) override {
    net_.forward(parameters, set_, samples, pass_);
    std::vector<float> of_outputs;
    const double loss = square_error(pass_.head.back(), at_positions(targets_, samples),
                                     at_positions(weights_, samples), gradient.empty() ? nullptr : &of_outputs);
    if (!gradient.empty()) net_.backward(parameters, set_, samples, pass_, std::move(of_outputs), gradient);
    return loss;
  }

 private:
  const PieceSets<float>& set_;
  const std::vector<float>& targets_;
  const std::vector<float>& weights_;
  ShardNet<float> net_;
  ShardNet<float>::Pass pass_;
};

// The logarithm of predicted over labelled seconds, large ones damped: a label that something disturbed is not
// followed.
class FitsFactors final : public Trainable {
 public:
  FitsFactors(const PieceSets<float>& set, const std::vector<float>& targets, FeatureLayout layout)
      : set_(set),
        targets_(targets),
        steady_(layout == FeatureLayout::batches ? kSteadyOfBatches : kSteady),
        net_(factor_shape(layout)) {}

  std::size_t parameter_count() const override { return net_.parameter_count(); }
  void initialise(std::span<float> parameters, Rng& rng) const override { net_.initialise(parameters, rng); }

  double loss(std::span<const float> parameters, std::span<const int> samples, std::span<float> gradient) override {
    net_.forward(parameters, set_, samples, pass_);
    const std::vector<float> targets = at_positions(targets_, samples);
    std::vector<float> of_outputs;
    double sum = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const float off = pass_.outputs[i] - targets[i], root = std::sqrt(1 + off * off / (steady_ * steady_));
      sum += static_cast<double>(steady_ * steady_ * (root - 1));
      of_outputs.push_back(off / root / static_cast<float>(samples.size()));
    }
    if (!gradient.empty()) net_.backward(parameters, set_, samples, pass_, of_outputs, gradient);
    return sum / static_cast<double>(samples.size());
  }

 private:
  const PieceSets<float>& set_;
  const std::vector<float>& targets_;
  float steady_;
  FactorNet<float> net_;
  FactorNet<float>::Pass pass_;
};

// Squares of large labels do not drown the others: an error counts in proportion to the root of the label, as if each
// table of a shard had its own.
std::vector<float> weights_of(const std::vector<double>& seconds, double mean) {
  std::vector<float> weights;
  for (const double value : seconds)
    weights.push_back(static_cast<float>((1 + kLeastShare) / (value / mean + kLeastShare)));
  return weights;
}

constexpr FitSteps kExchangeSteps{32'000, 128};

class FitsExchanges final : public Trainable {
 public:
  FitsExchanges(const std::vector<float>& inputs, const std::vector<float>& targets, const ExchangeInputs& form,
                bool forward)
      : inputs_(inputs),
        targets_(targets),
        width_(static_cast<int>(form.width(forward))),
        outputs_of_row_(static_cast<int>(form.outputs())),
        stack_(form.layers(forward)) {}

  std::size_t parameter_count() const override { return stack_.parameter_count(); }
  void initialise(std::span<float> parameters, Rng& rng) const override { stack_.initialise(parameters, rng); }

  double loss(std::span<const float> parameters, std::span<const int> samples, std::span<float> gradient) override {
    const std::vector<float> in = rows(inputs_, width_, samples), wanted = rows(targets_, outputs_of_row_, samples);
    stack_.forward(parameters, in, outputs_);
    std::vector<float> of_outputs;
    const double loss = square_error(outputs_.back(), wanted, {}, gradient.empty() ? nullptr : &of_outputs);
    if (!gradient.empty()) stack_.backward(parameters, in, outputs_, std::move(of_outputs), gradient, nullptr);
    return loss;
  }

 private:
  static std::vector<float> rows(const std::vector<float>& all, int width, std::span<const int> samples) {
    std::vector<float> result;
    result.reserve(samples.size() * static_cast<std::size_t>(width));
    for (const int sample : samples) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(sample) * width;
      result.insert(result.end(), from, from + width);
    }
    return result;
  }

  const std::vector<float>& inputs_;
  const std::vector<float>& targets_;
  int width_, outputs_of_row_;
  DenseStack<float> stack_;
  DenseStack<float>::Outputs outputs_;
};

}  // namespace

ShardData::ShardData(const std::vector<ShardSet>& sets, FeatureLayout layout, int row_alignment)
    : layout_(layout), row_alignment_(row_alignment) {
  pieces_.features = static_cast<int>(feature_names(layout).size());
  for (const ShardSet& set : sets) add(set);
  check_label_count(forward_.size(), "shards", sets.size() == 1 ? sets.front().file : "");
  scale_ = scale_of(pieces_.pieces, static_cast<std::size_t>(pieces_.features));
  scale_.apply(pieces_.pieces);
}

FittedNet ShardData::fit(bool forward, const TrainingOptions& options, const TrainingWatch& watch) const {
  const std::vector<double>& seconds = forward ? forward_ : backward_;
  if (has_factors(layout_)) return fit_factors(seconds, options, watch);
  const OutputScale scale = output_scale_of(seconds);
  const std::vector<float> targets = scaled(seconds, scale), weights = weights_of(seconds, scale.mean);
  FitsShards net(pieces_, targets, weights);
  return fitted(net, static_cast<int>(seconds.size()), scale, options, kShardSteps, watch);
}

// The median over the shards of their seconds per work: where factors are 1.
double ShardData::usual_seconds_of_work(const std::vector<double>& seconds) const {
  std::vector<double> ratios;
  for (std::size_t shard = 0; shard < seconds.size(); ++shard) {
    double work = 0;
    for (const int member : pieces_.members_of(std::vector<int>{static_cast<int>(shard)}))
      work += static_cast<double>(pieces_.amounts[static_cast<std::size_t>(member) * PieceAmounts::kCount]);
    ratios.push_back(seconds[shard] / work);
  }
  return median(ratios);
}

FittedNet ShardData::fit_factors(const std::vector<double>& seconds, const TrainingOptions& options,
                                 const TrainingWatch& watch) const {
  const OutputScale scale{0, usual_seconds_of_work(seconds)};
  std::vector<float> targets;
  for (const double label : seconds) targets.push_back(static_cast<float>(std::log(label / scale.deviation)));
  FitsFactors net(pieces_, targets, layout_);
  TrainingOptions all = options;
  all.validation_share = 0;  // a tenth of few labels chooses an epoch worse than the last one is
  if (layout_ == FeatureLayout::batches) all.decay = kBatchDecay;
  return fitted(net, static_cast<int>(seconds.size()), scale, all,
                layout_ == FeatureLayout::batches ? kBatchSteps : kFactorSteps, watch);
}

void ShardData::add(const ShardSet& set) {
  statistics_.clear();
  for (const Table& table : set.workload.tables) statistics_.push_back(table_statistics(table, set.batch));
  places_.clear();
  for (std::size_t i = 0; i < set.shards.size(); ++i) {
    const std::string shape = shape_of(set.shards[i]);
    if (set.labels[i] && !held_back(shape)) add(set, i, shape);
  }
}

void ShardData::add(const ShardSet& set, std::size_t shard, const std::string& shape) {
  const ShardSeconds& label = *set.labels[shard];
  check_label(label.forward, "labels of shard " + shape);
  check_label(label.backward, "labels of shard " + shape);
  std::vector<int> members;
  for (std::size_t i = 0;
       const CallPiece& piece : pieces_of(set.shards[shard], statistics_, set.workload, row_alignment_))
    members.push_back(place_of(set.shards[shard][i++], piece));
  pieces_.add(members);
  forward_.push_back(label.forward);
  backward_.push_back(label.backward);
  hash_.add(shape);
  hash_.add(label.forward);
  hash_.add(label.backward);
}

int ShardData::place_of(const ShardPiece& piece, const CallPiece& as_seen) {
  const RowLines& lines = as_seen.lines;
  const auto [found, is_new] =
      places_.try_emplace({piece, {lines.memory, lines.cache, lines.vector, as_seen.place}}, count_);
  if (!is_new) return found->second;
  const std::vector<float> features = table_features(as_seen, layout_);
  pieces_.pieces.insert(pieces_.pieces.end(), features.begin(), features.end());
  for (const float feature : features) hash_.add(static_cast<double>(feature));
  if (has_factors(layout_))
    for (const float amount : table_amounts(as_seen, layout_)) pieces_.amounts.push_back(amount);
  return count_++;
}

ExchangeData::ExchangeData(const ExchangeSet& set) : set_(set), form_(set.law.ranks) {
  for (std::size_t i = 0; i < set.exchanges.size(); ++i)
    if (set.labels[i] && !held_back(shape_of(set.exchanges[i]))) add(set.exchanges[i], *set.labels[i]);
  check_label_count(static_cast<std::size_t>(count_), "exchanges", set.file);
}

ExchangeModel ExchangeData::fit(const TrainingOptions& options, const FitWatch& watch) const {
  const std::size_t width = form_.width(true), of_columns = form_.width(false);
  ExchangeModel model{set_.law.ranks, set_.batch, set_.topology, scale_of(inputs_, width), {}, {}};
  std::vector<float> inputs = inputs_;
  model.inputs.apply(inputs);
  model.forward = fit(inputs, forward_, true, options, told("forward", watch));
  std::vector<float> columns;
  for (std::size_t at = 0; at < inputs.size(); at += width)
    columns.insert(columns.end(), inputs.begin() + static_cast<std::ptrdiff_t>(at),
                   inputs.begin() + static_cast<std::ptrdiff_t>(at + of_columns));
  model.backward = fit(columns, backward_, false, options, told("backward", watch));
  return model;
}

void ExchangeData::add_to(DataHash& hash) const {
  for (const float input : inputs_) hash.add(static_cast<double>(input));
  for (const double label : forward_) hash.add(label);
  for (const double label : backward_) hash.add(label);
}

void ExchangeData::add(const Exchange& exchange, const ExchangeSeconds& label) {
  const std::string where = "labels of exchange " + shape_of(exchange);
  for (const double seconds : label.forward) check_label(seconds, where);
  for (const double seconds : label.backward) check_label(seconds, where);
  form_.add(exchange.columns, exchange.starts_ms, inputs_);
  forward_.insert(forward_.end(), label.forward.begin(), label.forward.end());
  backward_.insert(backward_.end(), label.backward.begin(), label.backward.end());
  ++count_;
}

FittedNet ExchangeData::fit(const std::vector<float>& inputs, const std::vector<double>& seconds, bool forward,
                            const TrainingOptions& options, const TrainingWatch& watch) const {
  const OutputScale scale = output_scale_of(seconds);
  const std::vector<float> targets = scaled(seconds, scale);
  FitsExchanges net(inputs, targets, form_, forward);
  return fitted(net, static_cast<int>(seconds.size() / form_.outputs()), scale, options, kExchangeSteps, watch);
}

TrainingWatch ExchangeData::told(const char* direction, const FitWatch& watch) const {
  if (!watch) return {};
  const std::string name = fmt::format("exchange {} {}", set_.law.ranks, direction);
  return [&watch, name](int epoch, double loss) { watch(name, epoch, loss); };
}

}  // namespace shardsim
