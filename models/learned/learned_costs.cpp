#include "models/learned/learned_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <variant>

#include "base/error.h"
#include "models/learned/cost_model.h"
#include "models/learned/exchange_inputs.h"
#include "models/learned/factor_net.h"
#include "models/learned/shard_net.h"

namespace shardsim {
namespace detail {  // what LearnedCosts::Nets holds must have a name outside of this file

constexpr int kLanes = 16;  // partial sums of a head, so that a compiler may use vectors of any width for the same bits

// The rest of a head after its first layer: biases, ReLU, the last layer, seconds.
struct HeadEnd {
  alignas(64) std::array<float, CostVector::kWidth> biases{}, weights{};
  double mean = 0, deviation = 1;  // of the output, the last layer's bias in the mean

  double seconds(const float* sum) const {
    std::array<float, kLanes> lanes{};
    for (int at = 0; at < static_cast<int>(CostVector::kWidth); at += kLanes)
      for (int k = 0; k < kLanes; ++k) {
        const float hidden = sum[at + k] + biases[static_cast<std::size_t>(at + k)];
        lanes[static_cast<std::size_t>(k)] += (hidden > 0 ? hidden : 0) * weights[static_cast<std::size_t>(at + k)];
      }
    float total = 0;
    for (const float lane : lanes) total += lane;
    return mean + deviation * static_cast<double>(total);
  }
};

// One net, taken apart for what planners ask.
class ShardCost {
 public:
  ShardCost(const FittedNet& fitted, int features) : net_(features), parameters_(fitted.parameters) {
    constexpr std::ptrdiff_t kIn = ShardNet<float>::kTableVector, kOut = CostVector::kWidth;
    const std::span<const float> head = net_.of_head(fitted.parameters);
    first_ = {head.begin(), head.begin() + kIn * kOut};
    std::copy_n(head.begin() + kIn * kOut, kOut, end_.biases.begin());
    std::copy_n(head.begin() + (kIn + 1) * kOut, kOut, end_.weights.begin());
    end_.deviation = fitted.output.deviation;
    end_.mean = fitted.output.mean + end_.deviation * static_cast<double>(head.back());
  }

  // The first layer of the head, without its bias, over the vector of a table.
  void vector_of(std::span<const float> features, float* result) const {
    DenseStack<float>::Outputs outputs;
    net_.tables().forward(net_.of_tables(parameters_), features, outputs);
    const float* weights = first_.data();
    for (const float value : outputs.back())
      for (int k = 0; k < static_cast<int>(CostVector::kWidth); ++k) result[k] += value * *weights++;
  }

  double seconds(const float* sum) const { return end_.seconds(sum); }

 private:
  ShardNet<float> net_;
  std::vector<float> parameters_, first_;
  HeadEnd end_;
};

// The same of a FactorNet: the sums that its head takes, of which it makes seconds.
class FactorCost {
 public:
  FactorCost(const FittedNet& fitted, FeatureLayout layout)
      : net_(factor_shape(layout)), parameters_(fitted.parameters), unit_(fitted.output.deviation) {}

  void vector_of(std::span<const float> features, const std::array<float, PieceAmounts::kCount>& amounts,
                 float* result) const {
    DenseStack<float>::Outputs outputs;
    net_.tables().forward(net_.of_tables(parameters_), features, outputs);
    std::ranges::copy(amounts, result);
    result[PieceAmounts::work] *= std::exp(outputs.back().front());
  }

  double seconds(const float* sum) const {
    if (!(sum[PieceAmounts::work] > 0)) return 0;
    const std::size_t kept = net_.shape().amounts;
    std::array<float, PieceAmounts::kCount> logs{};
    for (std::size_t k = 0; k < kept; ++k) logs[k] = PieceAmounts::kPowers[k] * std::log(sum[k]);
    const auto hidden_count = static_cast<std::size_t>(net_.shape().head_hidden);
    const float* weights = net_.of_head(parameters_).data();
    const float* biases = weights + kept * hidden_count;
    const float* last = biases + hidden_count;
    float output = last[hidden_count] + logs[PieceAmounts::work];
    for (std::size_t h = 0; h < hidden_count; ++h) {
      float hidden = biases[h];
      for (std::size_t k = 0; k < kept; ++k) hidden += weights[k * hidden_count + h] * logs[k];
      if (hidden > 0) output += hidden * last[h];
    }
    return unit_ * std::exp(static_cast<double>(output));
  }

 private:
  FactorNet<float> net_;
  std::vector<float> parameters_;
  double unit_;  // seconds
};

// The two nets of either kind.
struct ShardCosts {
  ShardCosts(const CostModel& model, int features)
      : forward(model.forward, features), backward(model.backward, features) {}
  void vector_of(const CallPiece&, std::span<const float> features, float* result) const {
    forward.vector_of(features, result);
    backward.vector_of(features, result + CostVector::kWidth);
  }
  ShardCost forward, backward;
};
struct FactorCosts {
  explicit FactorCosts(const CostModel& model)
      : layout(model.layout), forward(model.forward, model.layout), backward(model.backward, model.layout) {}
  void vector_of(const CallPiece& piece, std::span<const float> features, float* result) const {
    const auto amounts = table_amounts(piece, layout);
    forward.vector_of(features, amounts, result);
    backward.vector_of(features, amounts, result + CostVector::kWidth);
  }
  FeatureLayout layout;
  FactorCost forward, backward;
};
using EitherCosts = std::variant<ShardCosts, FactorCosts>;

EitherCosts costs_of(const CostModel& model) {
  if (has_factors(model.layout)) return FactorCosts(model);
  return ShardCosts(model, static_cast<int>(model.features.means.size()));
}

class ExchangeCost {
 public:
  ExchangeCost(const FittedNet& fitted, const ExchangeInputs& form, bool forward)
      : stack_(form.layers(forward)), fitted_(fitted) {}

  void seconds(std::span<const float> inputs, std::span<double> result) const {
    DenseStack<float>::Outputs outputs;
    stack_.forward(fitted_.parameters, inputs, outputs);
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = fitted_.output.mean + fitted_.output.deviation * static_cast<double>(outputs.back()[i]);
  }

 private:
  DenseStack<float> stack_;
  FittedNet fitted_;
};

struct NodeExchange {
  explicit NodeExchange(const ExchangeModel& model)
      : ranks(model.ranks),
        form(model.ranks),
        inputs(model.inputs),
        forward(model.forward, form, true),
        backward(model.backward, form, false) {}

  // The rows of plan after plan, scaled; `starts` in seconds, none for the backward net.
  std::vector<float> scaled(std::span<const double> dims, std::span<const double> starts) const {
    std::vector<float> rows;
    const auto count = static_cast<std::size_t>(ranks);
    std::vector<double> starts_ms;
    for (std::size_t at = 0; at < dims.size(); at += count) {
      starts_ms.clear();
      for (std::size_t r = 0; r < count && !starts.empty(); ++r) starts_ms.push_back(1e3 * starts[at + r]);
      form.add(dims.subspan(at, count), starts_ms, rows);
    }
    const std::size_t width = form.width(!starts.empty());
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i] = (rows[i] - inputs.means[i % width]) / inputs.deviations[i % width];
    return rows;
  }

  int ranks;
  ExchangeInputs form;
  InputScale inputs;
  ExchangeCost forward, backward;
};

}  // namespace detail

namespace {

void expect(const std::filesystem::path& file, const char* what, const std::string& wanted, const std::string& has) {
  if (wanted.empty() || wanted == has) return;
  throw input_error({file.string()}, fmt::format("its labels are of {} {}, not of {}", what, has, wanted),
                    "Take a model that was trained for this, or train one: shardsim cost-model train");
}

}  // namespace

struct LearnedCosts::Nets {
  explicit Nets(const CostModel& model)
      : setting(model.setting),
        range(model.range),
        evidence(model.evidence),
        layout(model.layout),
        row_alignment(model.row_alignment),
        features(model.features),
        shards(detail::costs_of(model)) {
    for (const ExchangeModel& exchange : model.exchanges) exchanges.emplace_back(exchange);
  }

  const detail::NodeExchange& exchange(int ranks) const {
    for (const detail::NodeExchange& one : exchanges)
      if (one.ranks == ranks) return one;
    throw std::logic_error(fmt::format("no exchange of {} ranks was learned", ranks));
  }

  LabelSetting setting;
  LearnedRange range;
  LearnedEvidence evidence;
  FeatureLayout layout;
  int row_alignment;
  InputScale features;
  detail::EitherCosts shards;
  std::vector<detail::NodeExchange> exchanges;
};

LearnedCosts::LearnedCosts(const CostModel& model) : nets_(std::make_unique<const Nets>(model)) {}
LearnedCosts::~LearnedCosts() = default;
LearnedCosts::LearnedCosts(LearnedCosts&&) noexcept = default;
LearnedCosts& LearnedCosts::operator=(LearnedCosts&&) noexcept = default;

LearnedCosts LearnedCosts::read(const std::filesystem::path& file, const ExpectedSetting& expected) {
  const CostModel model = read_cost_model(file);
  const LabelSetting& setting = model.setting;
  expect(file, "the provider", expected.provider, setting.provider);
  expect(file, "the device", expected.device, setting.device);
  expect(file, "the batch", expected.batch == 0 ? "" : std::to_string(expected.batch), std::to_string(setting.batch));
  expect(file, "the optimizer", expected.optimizer, setting.optimizer);
  expect(file, "the type", expected.dtype, setting.dtype);
  return LearnedCosts(model);
}

const LabelSetting& LearnedCosts::setting() const {
  return nets_->setting;
}

const LearnedRange& LearnedCosts::range() const {
  return nets_->range;
}

const LearnedEvidence& LearnedCosts::evidence() const {
  return nets_->evidence;
}

FeatureLayout LearnedCosts::layout() const {
  return nets_->layout;
}

int LearnedCosts::row_alignment() const {
  return nets_->row_alignment;
}

CostVector LearnedCosts::vector_of(const CallPiece& piece) const {
  std::vector<float> features = table_features(piece, nets_->layout);
  nets_->features.apply(features);
  CostVector result;
  std::visit([&](const auto& costs) { costs.vector_of(piece, features, result.values.data()); }, nets_->shards);
  return result;
}

void LearnedCosts::add(CostVector& sum, const CostVector& vector) {
  for (std::size_t k = 0; k < sum.values.size(); ++k) sum.values[k] += vector.values[k];
}

ShardSeconds LearnedCosts::seconds_of(const CostVector& sum) const {
  const float* values = sum.values.data();
  return std::visit(
      [&](const auto& costs) {
        return ShardSeconds{costs.forward.seconds(values), costs.backward.seconds(values + CostVector::kWidth)};
      },
      nets_->shards);
}

std::vector<int> LearnedCosts::exchange_ranks() const {
  std::vector<int> ranks;
  for (const detail::NodeExchange& one : nets_->exchanges) ranks.push_back(one.ranks);
  return ranks;
}

void LearnedCosts::forward_exchanges(int ranks, std::span<const double> dims, std::span<const double> starts,
                                     std::span<double> seconds) const {
  const detail::NodeExchange& exchange = nets_->exchange(ranks);
  if (dims.size() % static_cast<std::size_t>(ranks) != 0 || starts.size() != dims.size() ||
      seconds.size() != dims.size())
    throw std::logic_error("columns, starts and seconds of exchanges differ in number");
  exchange.forward.seconds(exchange.scaled(dims, starts), seconds);
}

void LearnedCosts::backward_exchanges(int ranks, std::span<const double> dims, std::span<double> seconds) const {
  const detail::NodeExchange& exchange = nets_->exchange(ranks);
  if (dims.size() % static_cast<std::size_t>(ranks) != 0 || seconds.size() != dims.size())
    throw std::logic_error("columns and seconds of exchanges differ in number");
  exchange.backward.seconds(exchange.scaled(dims, {}), seconds);
}

}  // namespace shardsim
