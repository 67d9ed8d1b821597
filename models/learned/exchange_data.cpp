#include "models/learned/exchange_data.h"

#include <fmt/format.h>

#include "base/error.h"

namespace shardsim {
namespace {

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
