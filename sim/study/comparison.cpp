#include "sim/study/case_result.h"

namespace shardsim {
namespace {

constexpr const char* kThroughputGain = "throughput_gain";

std::optional<double> collective_ms(const Timeline& timeline, const std::string& name) {
  for (const NamedTime& time : named_times(timeline)) {
    if (time.name == name) return time.alone_ms;
  }
  return std::nullopt;
}

// "rows:flex" and "coverage:flex": over all tables.
std::optional<double> of_strategy(const CaseResult& result, const std::string& quantity) {
  const bool rows = quantity.starts_with("rows:");
  const std::string strategy = quantity.substr(quantity.find(':') + 1);
  std::optional<double> sum;
  for (const PlacementSummary& placement : result.placements) {
    if (strategy_name(placement.strategy) != strategy) continue;
    sum = sum.value_or(0) + (rows ? static_cast<double>(placement.rows) : 100 * placement.access_share);
  }
  return sum;
}

// What the case says at the payload of `timeline`.
std::optional<double> predicted(const std::string& quantity, const CaseResult& result, const Timeline& timeline) {
  if (quantity == "iteration") return timeline.iteration_ms;
  if (quantity == kThroughputGain) return std::nullopt;
  if (quantity.find(':') != std::string::npos) return of_strategy(result, quantity);
  return collective_ms(timeline, quantity);
}

std::optional<double> gain_pct(const std::optional<Timeline>& timeline, const std::optional<Timeline>& base) {
  if (!timeline || !base) return std::nullopt;
  return 100 * (base->iteration_ms / timeline->iteration_ms - 1);
}

std::optional<double> relative_error(std::optional<double> predicted, double value) {
  if (!predicted || value == 0) return std::nullopt;
  return 100 * (*predicted - value) / value;
}

}  // namespace

std::optional<double> Comparison::error_pct() const {
  return relative_error(predicted, published.value);
}

std::optional<double> Comparison::error_at_observed_payload_pct() const {
  return relative_error(predicted_at_observed_payload, published.value);
}

std::vector<Comparison> compared_with_published(const CaseResult& result, const std::vector<Published>& published) {
  std::vector<Comparison> comparisons;
  for (const Published& each : published) {
    Comparison comparison{each, predicted(each.quantity, result, result.timeline), std::nullopt};
    if (each.at_observed_payload && result.observed_payload_timeline) {
      comparison.predicted_at_observed_payload = predicted(each.quantity, result, *result.observed_payload_timeline);
    }
    comparisons.push_back(comparison);
  }
  return comparisons;
}

void compare_throughput(CaseResult& result, const CaseResult& base) {
  for (Comparison& comparison : result.published) {
    if (comparison.published.quantity != kThroughputGain) continue;
    comparison.predicted = 100 * (base.iteration_ms / result.iteration_ms - 1);
    if (!comparison.published.at_observed_payload) continue;
    comparison.predicted_at_observed_payload =
        gain_pct(result.observed_payload_timeline, base.observed_payload_timeline);
  }
}

}  // namespace shardsim
