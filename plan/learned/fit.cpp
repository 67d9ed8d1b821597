#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "plan/learned/cost_model.h"
#include "plan/learned/shard_net.h"
#include "plan/row_hash.h"

namespace shardsim {
namespace {

constexpr std::size_t kFewLabels = 4'000;

// Of a training, where nobody says otherwise.
struct Steps {
  double count = 0;
  int batch = 0;  // where labels are not few
};
constexpr Steps kShardSteps{16'000, 64}, kExchangeSteps{32'000, 128};

constexpr double kLeastShare = 0.1;  // of the mean: labels below it count as if they were that large
constexpr double kTiny = 1e-6;       // added to deviations, as NeuroShard does

// The mean of weight x (output - target)^2, and its gradient per output where asked for. No weights: all 1.
double square_error(std::span<const float> outputs, std::span<const float> targets, std::span<const float> weights,
                    std::vector<float>* gradient) {
  double sum = 0;
  const float share = 1 / static_cast<float>(outputs.size());
  if (gradient != nullptr) gradient->resize(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const float off = outputs[i] - targets[i], weighted = weights.empty() ? off : weights[i] * off;
    sum += static_cast<double>(weighted * off);
    if (gradient != nullptr) (*gradient)[i] = 2 * share * weighted;
  }
  return sum * static_cast<double>(share);
}

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

class FitsExchanges final : public Trainable {
 public:
  FitsExchanges(const std::vector<float>& inputs, const std::vector<float>& targets, int width, int ranks)
      : inputs_(inputs), targets_(targets), width_(width), ranks_(ranks), stack_(exchange_layers(width, ranks)) {}

  std::size_t parameter_count() const override { return stack_.parameter_count(); }
  void initialise(std::span<float> parameters, Rng& rng) const override { stack_.initialise(parameters, rng); }

  double loss(std::span<const float> parameters, std::span<const int> samples, std::span<float> gradient) override {
    const std::vector<float> in = rows(inputs_, width_, samples), wanted = rows(targets_, ranks_, samples);
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
  int width_, ranks_;
  DenseStack<float> stack_;
  DenseStack<float>::Outputs outputs_;
};

InputScale scale_of(const std::vector<float>& inputs, std::size_t width) {
  InputScale scale;
  const auto samples = static_cast<double>(inputs.size() / width);
  for (std::size_t k = 0; k < width; ++k) {
    double sum = 0, squares = 0;
    for (std::size_t at = k; at < inputs.size(); at += width) sum += static_cast<double>(inputs[at]);
    const double mean = sum / samples;
    for (std::size_t at = k; at < inputs.size(); at += width) {
      const double off = static_cast<double>(inputs[at]) - mean;
      squares += off * off;
    }
    scale.means.push_back(static_cast<float>(mean));
    scale.deviations.push_back(static_cast<float>(std::sqrt(squares / std::max(samples - 1, 1.0)) + kTiny));
  }
  return scale;
}

OutputScale output_scale_of(const std::vector<double>& seconds) {
  const auto count = static_cast<double>(seconds.size());
  const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / count;
  double squares = 0;
  for (const double value : seconds) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / count);
  return {mean, deviation > 0 ? deviation : mean};
}

std::vector<float> scaled(const std::vector<double>& seconds, const OutputScale& scale) {
  std::vector<float> targets;
  for (const double value : seconds) targets.push_back(static_cast<float>((value - scale.mean) / scale.deviation));
  return targets;
}

// Squares of large labels do not drown the others: an error counts in proportion to the root of the label, as if each
// table of a shard had its own.
std::vector<float> weights_of(const std::vector<double>& seconds, double mean) {
  std::vector<float> weights;
  for (const double value : seconds)
    weights.push_back(static_cast<float>((1 + kLeastShare) / (value / mean + kLeastShare)));
  return weights;
}

// Where the options leave them open: steps enough, of few labels where there are few.
TrainingOptions completed(TrainingOptions options, std::size_t labels, const Steps& steps) {
  if (options.batch == 0) options.batch = labels < kFewLabels ? 16 : steps.batch;
  if (options.epochs > 0) return options;
  const double in_epoch = std::max(1.0, static_cast<double>(labels) / options.batch);
  options.epochs = static_cast<int>(std::ceil(steps.count / in_epoch));
  return options;
}

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

void check_label(double seconds, const std::string& where) {
  if (std::isfinite(seconds) && seconds > 0) return;
  throw input_error({where}, fmt::format("a label of {} s is no time", seconds), "Label the shards again");
}

// The labelled shards that are not held back, of all sets, with their pieces' features.
class ShardData {
 public:
  ShardData(const std::vector<ShardSet>& sets, FeatureLayout layout) : layout_(layout) {
    pieces_.features = static_cast<int>(feature_names(layout).size());
    for (const ShardSet& set : sets) add(set);
    if (forward_.empty())
      throw input_error({"labels"}, "no shard has a label that may be fitted",
                        "Label the shards first: cost-model label");
    scale_ = scale_of(pieces_.pieces, static_cast<std::size_t>(pieces_.features));
    scale_.apply(pieces_.pieces);
  }

  FittedNet fit(bool forward, const TrainingOptions& options, const TrainingWatch& watch) const {
    const std::vector<double>& seconds = forward ? forward_ : backward_;
    const OutputScale scale = output_scale_of(seconds);
    const std::vector<float> targets = scaled(seconds, scale), weights = weights_of(seconds, scale.mean);
    FitsShards net(pieces_, targets, weights);
    std::vector<int> samples(seconds.size());
    std::iota(samples.begin(), samples.end(), 0);
    Trained trained = train(net, std::move(samples), completed(options, seconds.size(), kShardSteps), watch);
    return {std::move(trained.parameters), scale, trained.validation_loss, trained.epoch};
  }

  const InputScale& scale() const { return scale_; }
  std::uint64_t hash() const { return hash_.value(); }
  std::int64_t labels() const { return static_cast<std::int64_t>(forward_.size()); }

 private:
  void add(const ShardSet& set) {
    statistics_.clear();
    for (const Table& table : set.workload.tables) statistics_.push_back(table_statistics(table, set.batch));
    places_.clear();
    for (std::size_t i = 0; i < set.shards.size(); ++i) {
      const std::string shape = shape_of(set.shards[i]);
      if (set.labels[i] && !held_back(shape)) add(set.shards[i], shape, *set.labels[i]);
    }
  }

  void add(const Shard& shard, const std::string& shape, const ShardSeconds& label) {
    check_label(label.forward, "labels of shard " + shape);
    check_label(label.backward, "labels of shard " + shape);
    std::vector<int> members;
    for (const ShardPiece& piece : shard) members.push_back(place_of(piece));
    pieces_.add(members);
    forward_.push_back(label.forward);
    backward_.push_back(label.backward);
    hash_.add(shape);
    hash_.add(label.forward);
    hash_.add(label.backward);
  }

  int place_of(const ShardPiece& piece) {
    const auto [found, is_new] = places_.try_emplace(piece, count_);
    if (!is_new) return found->second;
    const TableStatistics& table = statistics_.at(static_cast<std::size_t>(piece.table));
    const std::vector<float> features = table_features(table, piece.columns, layout_);
    pieces_.pieces.insert(pieces_.pieces.end(), features.begin(), features.end());
    for (const float feature : features) hash_.add(static_cast<double>(feature));
    return count_++;
  }

  FeatureLayout layout_;
  PieceSets<float> pieces_;
  InputScale scale_;
  std::vector<double> forward_, backward_;
  std::vector<TableStatistics> statistics_;  // of the set that is being added
  std::map<ShardPiece, int> places_;         // likewise
  int count_ = 0;
  DataHash hash_;
};

// The labelled exchanges that are not held back.
class ExchangeData {
 public:
  explicit ExchangeData(const ExchangeSet& set) : set_(set) {
    for (std::size_t i = 0; i < set.exchanges.size(); ++i)
      if (set.labels[i] && !held_back(shape_of(set.exchanges[i]))) add(set.exchanges[i], *set.labels[i]);
    if (count_ == 0)
      throw input_error({"labels"}, "no exchange has a label that may be fitted",
                        "Label the exchanges first: cost-model label");
  }

  ExchangeModel fit(const TrainingOptions& options, const FitWatch& watch) const {
    const auto ranks = static_cast<std::size_t>(set_.law.ranks);
    ExchangeModel model{set_.law.ranks, set_.batch, set_.topology, scale_of(inputs_, 2 * ranks), {}, {}};
    std::vector<float> inputs = inputs_;
    model.inputs.apply(inputs);
    model.forward = fit(inputs, forward_, 2 * set_.law.ranks, options, told("forward", watch));
    std::vector<float> columns;
    for (std::size_t at = 0; at < inputs.size(); at += 2 * ranks)
      columns.insert(columns.end(), inputs.begin() + static_cast<std::ptrdiff_t>(at),
                     inputs.begin() + static_cast<std::ptrdiff_t>(at + ranks));
    model.backward = fit(columns, backward_, set_.law.ranks, options, told("backward", watch));
    return model;
  }

  void add_to(DataHash& hash) const {
    for (const float input : inputs_) hash.add(static_cast<double>(input));
    for (const double label : forward_) hash.add(label);
    for (const double label : backward_) hash.add(label);
  }

 private:
  void add(const Exchange& exchange, const ExchangeSeconds& label) {
    const std::string where = "labels of exchange " + shape_of(exchange);
    for (const double seconds : label.forward) check_label(seconds, where);
    for (const double seconds : label.backward) check_label(seconds, where);
    for (const double columns : exchange.columns) inputs_.push_back(static_cast<float>(columns));
    for (const double start : exchange.starts_ms) inputs_.push_back(static_cast<float>(start));
    forward_.insert(forward_.end(), label.forward.begin(), label.forward.end());
    backward_.insert(backward_.end(), label.backward.begin(), label.backward.end());
    ++count_;
  }

  FittedNet fit(const std::vector<float>& inputs, const std::vector<double>& seconds, int width,
                const TrainingOptions& options, const TrainingWatch& watch) const {
    const OutputScale scale = output_scale_of(seconds);
    const std::vector<float> targets = scaled(seconds, scale);
    FitsExchanges net(inputs, targets, width, set_.law.ranks);
    std::vector<int> samples(static_cast<std::size_t>(count_));
    std::iota(samples.begin(), samples.end(), 0);
    Trained trained =
        train(net, std::move(samples), completed(options, static_cast<std::size_t>(count_), kExchangeSteps), watch);
    return {std::move(trained.parameters), scale, trained.validation_loss, trained.epoch};
  }

  TrainingWatch told(const char* direction, const FitWatch& watch) const {
    if (!watch) return {};
    const std::string name = fmt::format("exchange {} {}", set_.law.ranks, direction);
    return [&watch, name](int epoch, double loss) { watch(name, epoch, loss); };
  }

  const ExchangeSet& set_;
  std::vector<float> inputs_;
  std::vector<double> forward_, backward_;
  int count_ = 0;
};

[[noreturn]] void refuse_mixture(const std::string& one, const std::string& other) {
  throw input_error({"labels"}, fmt::format("labels of {} and of {}", one, other),
                    "Train one model of each: labels of two kinds are never mixed");
}

LabelSetting common_setting(const std::vector<ShardSet>& shards, const std::vector<ExchangeSet>& exchanges) {
  if (shards.empty()) throw input_error({"labels"}, "no labels of shards are given", "Give at least one such file");
  const LabelSetting setting = shards.front().setting();
  for (const ShardSet& set : shards)
    if (!(set.setting() == setting)) refuse_mixture(text_of(setting), text_of(set.setting()));
  for (const ExchangeSet& set : exchanges)
    if (set.provider != setting.provider || set.batch != setting.batch)
      refuse_mixture(text_of(setting), fmt::format("exchanges by {} (batch {})", set.provider, set.batch));
  return setting;
}

TrainingWatch named(const std::string& net, const FitWatch& watch) {
  if (!watch) return {};
  return [&watch, net](int epoch, double loss) { watch(net, epoch, loss); };
}

}  // namespace

std::string text_of(const LabelSetting& setting) {
  return fmt::format("{} on {} (batch {}, {}, {})", setting.provider, setting.device, setting.batch, setting.optimizer,
                     setting.dtype);
}

void InputScale::apply(std::span<float> inputs) const {
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    const std::size_t k = at % means.size();
    inputs[at] = (inputs[at] - means[k]) / deviations[k];
  }
}

std::vector<DenseLayerShape> exchange_layers(int inputs, int ranks) {
  return {{inputs, 128, true}, {128, 64, true}, {64, 32, true}, {32, 16, true}, {16, ranks, false}};
}

CostModel fit_cost_model(const std::vector<ShardSet>& shards, const std::vector<ExchangeSet>& exchanges,
                         const TrainingOptions& options, const FitWatch& watch) {
  CostModel model;
  model.setting = common_setting(shards, exchanges);
  model.seed = options.seed;
  const ShardData data(shards, model.layout);
  DataHash hash;
  hash.add(static_cast<double>(data.hash()));
  model.labels = data.labels();
  model.features = data.scale();
  model.forward = data.fit(true, options, named("forward", watch));
  model.backward = data.fit(false, options, named("backward", watch));
  for (const ExchangeSet& set : exchanges) {
    const ExchangeData exchange(set);
    exchange.add_to(hash);
    model.exchanges.push_back(exchange.fit(options, watch));
  }
  std::ranges::sort(model.exchanges, {}, &ExchangeModel::ranks);
  model.data_hash = hash.value();
  return model;
}

}  // namespace shardsim
