#include "study/run/published_comparison.h"

#include <algorithm>
#include <string_view>

#include "base/judgement/pair.h"

namespace shardsim {
namespace {

constexpr const char* kThroughputGain = "throughput_gain";
constexpr const char* kMemorySaved = "memory_saved";
constexpr const char* kPeakMemory = "peak_memory";
constexpr std::string_view kKernelsPrefix = "kernels:";

// Returns the time of the operations of one name: a collective's calls count as if alone, those that compute as they
// ran.
std::optional<double> time_ms(const std::vector<NamedTime>& times, std::string_view name, double NamedTime::*of) {
  const auto time = std::ranges::find(times, name, &NamedTime::name);
  return time == times.end() ? std::nullopt : std::optional((*time).*of);
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

// Returns the time of collectives that no compute hides, on the mean rank.
double exposed_collectives_ms(const std::vector<NamedTime>& times) {
  double sum = 0;
  for (const NamedTime& time : times) sum += time.exposed_ms;
  return sum;
}

// GiB that the fullest GPU holds at its simulated peak; none where it is not known.
std::optional<double> peak_memory(const CaseResult& result) {
  if (result.memory_profile.ranks.empty()) return std::nullopt;
  return static_cast<double>(result.memory_profile.highest().bytes()) / kGiB;
}

std::optional<double> predicted(const std::string& quantity, const CaseResult& result, double iteration_ms,
                                const std::vector<NamedTime>& times) {
  if (quantity == "iteration") return iteration_ms;
  if (quantity == kThroughputGain || quantity == kMemorySaved || quantity.starts_with(kKernelsPrefix))
    return std::nullopt;
  if (quantity.starts_with(kOperationPrefix))
    return time_ms(times, std::string_view(quantity).substr(kOperationPrefix.size()), &NamedTime::span_ms);
  if (quantity.starts_with(kRunPrefix))
    return std::stod(quantity.substr(kRunPrefix.size())) * iteration_ms + result.fill_ms;
  if (quantity == kPeakMemory) return peak_memory(result);
  if (quantity == kExposedCollectives) return exposed_collectives_ms(times);
  if (quantity.find(':') != std::string::npos) return of_strategy(result, quantity);
  return time_ms(times, quantity, &NamedTime::alone_ms);
}

// Returns the fitted share of the iteration that is predicted, in percent.
double fitted_share_pct(const Published& published, const CaseResult& result, const KernelParts& parts) {
  double ms = 0;
  for (const std::string& part : published.fitted_in) {
    if (part == "host") {
      ms += result.host ? result.host->waits_for_host_ms : 0;
    } else {
      ms += parts.named(std::string_view(part).substr(kKernelsPrefix.size())).value_or(0);
    }
  }
  return 100 * ms / result.iteration_ms;
}

// GiB that the fullest GPU holds less at its simulated peak than that of `base`; none where a peak is not known.
std::optional<double> memory_saved(const CaseResult& result, const CaseResult& base) {
  if (result.memory_profile.ranks.empty() || base.memory_profile.ranks.empty()) return std::nullopt;
  const std::int64_t bytes = base.memory_profile.highest().bytes() - result.memory_profile.highest().bytes();
  return static_cast<double>(bytes) / kGiB;
}

}  // namespace

std::optional<double> Comparison::error_pct() const {
  return percent_off(predicted, published.value);
}

std::optional<double> Comparison::error_at_observed_payload_pct() const {
  return percent_off(predicted_at_observed_payload, published.value);
}

std::vector<Comparison> compared_with_published(const CaseResult& result, const std::vector<Published>& published,
                                                const std::function<KernelParts()>& parts) {
  std::vector<Comparison> comparisons;
  std::optional<KernelParts> known;
  for (const Published& each : published) {
    Comparison comparison{each, predicted(each.quantity, result, result.iteration_ms, result.times), std::nullopt};
    if (parts && each.quantity.starts_with(kKernelsPrefix)) {
      if (!known) known = parts();
      comparison.predicted = known->named(std::string_view(each.quantity).substr(kKernelsPrefix.size()));
    }
    if (each.at_observed_payload && result.at_observed_payload) {
      comparison.predicted_at_observed_payload =
          predicted(each.quantity, result, result.at_observed_payload->iteration_ms, result.at_observed_payload->times);
    }
    if (parts && !each.fitted_in.empty()) {
      if (!known) known = parts();
      comparison.fitted_share_pct = fitted_share_pct(each, result, *known);
    }
    comparisons.push_back(comparison);
  }
  return comparisons;
}

void compare_with_base(CaseResult& result, const CaseResult& base) {
  const double batches = result.samples() / base.samples();
  const auto gain_pct = [&](double own_ms, double other_ms) { return 100 * (batches * (other_ms / own_ms) - 1); };
  const auto &observed = result.iteration_ms_at_observed_payload,
             &base_observed = base.iteration_ms_at_observed_payload;
  for (Comparison& comparison : result.published) {
    if (comparison.published.quantity == kMemorySaved) comparison.predicted = memory_saved(result, base);
    if (comparison.published.quantity != kThroughputGain) continue;
    comparison.predicted = gain_pct(result.iteration_ms, base.iteration_ms);
    if (!comparison.published.at_observed_payload || !observed || !base_observed) continue;
    comparison.predicted_at_observed_payload = gain_pct(*observed, *base_observed);
  }
}

}  // namespace shardsim
