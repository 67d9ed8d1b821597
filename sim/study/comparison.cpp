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

// Samples of one iteration on all ranks.
double samples(const CaseResult& result) {
  return static_cast<double>(result.world_size) * static_cast<double>(result.batch_per_gpu);
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
  const double batches = samples(result) / samples(base);
  const auto gain_pct = [&](const Timeline& own, const Timeline& other) {
    return 100 * (batches * (other.iteration_ms / own.iteration_ms) - 1);
  };
  const auto &observed = result.observed_payload_timeline, &base_observed = base.observed_payload_timeline;
  for (Comparison& comparison : result.published) {
    if (comparison.published.quantity != kThroughputGain) continue;
    comparison.predicted = gain_pct(result.timeline, base.timeline);
    if (!comparison.published.at_observed_payload || !observed || !base_observed) continue;
    comparison.predicted_at_observed_payload = gain_pct(*observed, *base_observed);
  }
}

}  // namespace shardsim
