#include "sim/study/comparison.h"

#include <algorithm>

namespace shardsim {
namespace {

// Figures of one case at one payload.
struct Figures {
  const CaseResult& result;
  const Timeline& timeline;
};

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

// Samples of one iteration on all ranks.
double samples(const CaseResult& result) {
  return static_cast<double>(result.world_size) * static_cast<double>(result.batch_per_gpu);
}

// By samples per second, so that it means the same between cases of different batches.
std::optional<double> throughput_gain(const Figures& figures, const std::optional<Figures>& base) {
  if (!base) return std::nullopt;
  const double batches = samples(figures.result) / samples(base->result);
  return 100 * (batches * (base->timeline.iteration_ms / figures.timeline.iteration_ms) - 1);
}

std::optional<double> predicted(const std::string& quantity, const Figures& figures,
                                const std::optional<Figures>& base) {
  if (quantity == "iteration") return figures.timeline.iteration_ms;
  if (quantity == "throughput_gain") return throughput_gain(figures, base);
  if (quantity.find(':') != std::string::npos) return of_strategy(figures.result, quantity);
  return collective_ms(figures.timeline, quantity);
}

const CaseResult* find_case(const StudyResult& study, const std::string& name) {
  const auto found =
      std::find_if(study.cases.begin(), study.cases.end(), [&](const CaseResult& c) { return c.name == name; });
  return found == study.cases.end() ? nullptr : &*found;
}

// The case's Timeline at the observed payload; a case whose tables state none has the planned one only.
const Timeline* at_observed(const CaseResult& result) {
  return result.observed_payload_timeline ? &*result.observed_payload_timeline : nullptr;
}

std::optional<Figures> figures_of(const CaseResult* result, const Timeline* timeline) {
  if (result == nullptr || timeline == nullptr) return std::nullopt;
  return Figures{*result, *timeline};
}

Comparison compare(const Published& published, const CaseResult& result, const CaseResult* base) {
  Comparison comparison{published, std::nullopt, std::nullopt};
  comparison.predicted =
      predicted(published.quantity, {result, result.timeline}, figures_of(base, base ? &base->timeline : nullptr));
  const Timeline* observed = at_observed(result);
  if (published.at_observed_payload && observed != nullptr) {
    comparison.predicted_at_observed_payload =
        predicted(published.quantity, {result, *observed}, figures_of(base, base ? at_observed(*base) : nullptr));
  }
  return comparison;
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

void compare_with_published(StudyResult& study, const Scenario& scenario) {
  for (std::size_t index = 0; index < study.cases.size(); ++index) {
    const Case& item = scenario.cases[index];
    const CaseResult* base = item.relative_to.empty() ? nullptr : find_case(study, item.relative_to);
    if (base == nullptr && !item.relative_to.empty())
      study.cases[index].notes.push_back("Not compared with case '" + item.relative_to + "', which is left out.");
    for (const Published& published : item.published) {
      study.cases[index].published.push_back(compare(published, study.cases[index], base));
    }
  }
}

}  // namespace shardsim
