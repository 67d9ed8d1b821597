#include "models/learned/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "models/learned/evaluation.h"
#include "models/learned/factor_net.h"
#include "models/learned/training_data.h"

namespace shardsim {
namespace {

constexpr std::size_t kFewLabels = 4'000;
constexpr double kTiny = 1e-6;  // added to deviations, as NeuroShard does

// Where the options leave them open: steps enough, of few labels where there are few.
TrainingOptions completed(TrainingOptions options, std::size_t labels, const FitSteps& steps) {
  if (options.batch == 0) options.batch = labels < kFewLabels ? 16 : steps.batch;
  if (options.epochs > 0) return options;
  const double in_epoch = std::max(1.0, static_cast<double>(labels) / options.batch);
  options.epochs = static_cast<int>(std::ceil(steps.count / in_epoch));
  return options;
}

[[noreturn]] void refuse_mixture(const ShardSet& one, const std::string& file, const std::string& other) {
  const std::string where = one.file.empty() ? "" : fmt::format(" in {}", one.file);
  throw input_error(place_of_labels(file),
                    fmt::format("labels of {}{} and of {}", text_of(one.setting()), where, other),
                    "Train a model for each of them: labels of different kinds are never mixed");
}

// With the layout `batches` the batch is a feature, so that labels of several batches are of one setting.
LabelSetting common_setting(const std::vector<ShardSet>& shards, const std::vector<ExchangeSet>& exchanges,
                            FeatureLayout layout) {
  if (shards.empty()) throw input_error({"labels"}, "no labels of shards are given", "Give at least one such file");
  LabelSetting setting = shards.front().setting();
  for (const ShardSet& set : shards) {
    LabelSetting own = set.setting();
    if (layout == FeatureLayout::batches && own.batch != setting.batch) own.batch = setting.batch = 0;
    if (setting.batch == 0) own.batch = 0;
    if (!(own == setting)) refuse_mixture(shards.front(), set.file, text_of(set.setting()));
  }
  for (const ExchangeSet& set : exchanges)
    if (set.provider != setting.provider || set.batch != setting.batch || set.device != setting.device)
      refuse_mixture(shards.front(), set.file,
                     fmt::format("exchanges by {} on {} (batch {})", set.provider, set.device, set.batch));
  return setting;
}

// One pair of nets for each number of ranks.
void refuse_ranks_twice(const std::vector<ExchangeSet>& exchanges) {
  for (auto set = exchanges.begin(); set != exchanges.end(); ++set) {
    const int ranks = set->law.ranks;
    const auto same = [&](const ExchangeSet& other) { return other.law.ranks == ranks; };
    if (const auto before = std::find_if(exchanges.begin(), set, same); before != set)
      throw input_error(place_of_labels(set->file),
                        fmt::format("exchanges of {} ranks, and so are those in {}", ranks,
                                    before->file.empty() ? "another file" : before->file),
                        "Give one file of labels for each number of ranks");
  }
}

// 0 where sets differ: then all tables count with the mean over all places.
int common_alignment(const std::vector<ShardSet>& shards) {
  const int first = shards.front().row_alignment;
  const bool are_alike = std::ranges::all_of(shards, [&](const ShardSet& set) { return set.row_alignment == first; });
  return are_alike ? first : 0;
}

LearnedRange range_of(const std::vector<ShardSet>& shards) {
  LearnedRange range;
  const auto widen = [](std::int64_t& from, std::int64_t& to, std::int64_t value) {
    from = from == 0 ? value : std::min(from, value);
    to = std::max(to, value);
  };
  for (const ShardSet& set : shards) {
    widen(range.batch_from, range.batch_to, set.batch);
    for (const Shard& shard : set.shards) {
      widen(range.tables_from, range.tables_to, static_cast<std::int64_t>(shard.size()));
      for (const ShardPiece& piece : shard) widen(range.columns_from, range.columns_to, piece.columns);
    }
  }
  return range;
}

HeldBackErrors errors_in_short(const CostErrors& errors) {
  return {errors.median_pct, errors.p90_pct, errors.scale};
}

std::string name_of_set(const ShardSet& set) {
  return set.name.empty() ? std::filesystem::path(set.file).stem().string() : set.name;
}

// Collects predictions of the nets beside labels for all shards that are held back, set by set.
class HeldBack {
 public:
  void add(const LearnedCosts& costs, const ShardSet& set) {
    const std::vector<std::size_t> items = held_back_items(set);
    const std::vector<ShardSeconds> said = predicted_seconds(costs, set, items);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const ShardSeconds& label = *set.labels[items[i]];
      forward_.add(said[i].forward, label.forward);
      backward_.add(said[i].backward, label.backward);
    }
  }
  std::size_t count() const { return forward_.labels.size(); }
  HeldBackErrors forward() const { return forward_.errors(); }
  HeldBackErrors backward() const { return backward_.errors(); }

 private:
  struct Direction {
    void add(double said, double label) {
      predicted.push_back(said);
      labels.push_back(label);
    }
    HeldBackErrors errors() const { return errors_in_short(cost_errors(predicted, labels)); }
    std::vector<double> predicted, labels;
  };
  Direction forward_, backward_;
};

LearnedEvidence evidence_of(const CostModel& model, const std::vector<ShardSet>& shards, std::int64_t fitted) {
  LearnedEvidence evidence;
  evidence.fitted = fitted;
  const LearnedCosts costs(model);
  HeldBack judges;
  for (const ShardSet& set : shards) {
    evidence.sets.push_back(name_of_set(set));
    judges.add(costs, set);
  }
  evidence.held_back = static_cast<std::int64_t>(judges.count());
  evidence.forward = judges.forward();
  evidence.backward = judges.backward();
  return evidence;
}

TrainingWatch named(const std::string& net, const FitWatch& watch) {
  if (!watch) return {};
  return [&watch, net](int epoch, double loss) { watch(net, epoch, loss); };
}

}  // namespace

std::string text_of(const LabelSetting& setting) {
  const std::string batch = setting.batch == 0 ? "several batches" : fmt::format("batch {}", setting.batch);
  return fmt::format("{} on {} ({}, {}, {})", setting.provider, setting.device, batch, setting.optimizer,
                     setting.dtype);
}

Place place_of_labels(const std::string& file) {
  return {file.empty() ? "labels" : file};
}

void check_label_count(std::size_t labels, const std::string& what, const std::string& file) {
  if (labels >= kFewestFitted) return;
  throw input_error(place_of_labels(file),
                    fmt::format("{} labels of {} may be fitted, too few to learn from", labels, what),
                    fmt::format("Label more (shardsim cost-model label): training needs {} or more besides the third "
                                "that is held back, and a useful model hundreds",
                                kFewestFitted));
}

void InputScale::apply(std::span<float> inputs) const {
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    const std::size_t k = at % means.size();
    inputs[at] = (inputs[at] - means[k]) / deviations[k];
  }
}

std::size_t shard_parameters(FeatureLayout layout) {
  if (has_factors(layout)) return FactorNet<float>(factor_shape(layout)).parameter_count();
  return ShardNet<float>(static_cast<int>(feature_names(layout).size())).parameter_count();
}

FeatureLayout usual_layout(const LabelSetting& setting) {
  if (setting.provider == "fbgemm" || setting.batch == 0) return FeatureLayout::batches;
  return setting.provider == "closed_form" ? FeatureLayout::neuroshard : FeatureLayout::measured;
}

std::vector<DenseLayerShape> exchange_layers(int inputs, int ranks) {
  return {{inputs, 128, true}, {128, 64, true}, {64, 32, true}, {32, 16, true}, {16, ranks, false}};
}

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

InputScale scale_of(const std::vector<float>& inputs, std::size_t width) {
  InputScale scale;
  const std::size_t rows = inputs.size() / width;
  const auto samples = static_cast<double>(rows);
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

FittedNet fitted(Trainable& net, int samples, const OutputScale& scale, const TrainingOptions& options,
                 const FitSteps& steps, const TrainingWatch& watch) {
  std::vector<int> all(static_cast<std::size_t>(samples));
  std::iota(all.begin(), all.end(), 0);
  const TrainingOptions complete = completed(options, all.size(), steps);
  Trained trained = train(net, std::move(all), complete, watch);
  return {std::move(trained.parameters), scale, trained.validation_loss, trained.epoch};
}

void check_label(double seconds, const std::string& where) {
  if (std::isfinite(seconds) && seconds > 0) return;
  throw input_error({where}, fmt::format("a label of {} s is not a time", seconds), "Label the shards again");
}

CostModel fit_cost_model(const std::vector<ShardSet>& shards, const std::vector<ExchangeSet>& exchanges,
                         const TrainingOptions& options, const FitWatch& watch, FeatureLayout layout) {
  CostModel model;
  model.layout = layout;
  model.setting = common_setting(shards, exchanges, layout);
  refuse_ranks_twice(exchanges);
  if (layout == FeatureLayout::batches) {
    model.range = range_of(shards);
    model.row_alignment = common_alignment(shards);
  }
  model.seed = options.seed;
  const ShardData data(shards, model.layout, model.row_alignment);
  DataHash hash;
  hash.add(static_cast<double>(data.hash()));
  model.features = data.scale();
  model.forward = data.fit(true, options, named("forward", watch));
  model.backward = data.fit(false, options, named("backward", watch));
  model.evidence = evidence_of(model, shards, data.labels());
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
