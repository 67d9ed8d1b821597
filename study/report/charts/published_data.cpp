#include <algorithm>

#include "study/report/charts/chart_data.h"
#include "study/report/sheets/published_iterations.h"

namespace shardsim {
namespace {

// Returns the class as which a published time is drawn: an operation that computes by its class, kernels by what they
// do, and the rest is of collectives.
std::string class_of_quantity(const CaseResult& item, std::string_view quantity) {
  if (quantity == "iteration") return "iteration";
  if (quantity == "kernels:embedding") return "lookup";
  if (quantity.starts_with("kernels:")) return "dense";
  if (!quantity.starts_with(kOperationPrefix)) return display_class(std::string(quantity), "collective");
  const std::string_view name = quantity.substr(kOperationPrefix.size());
  const auto found = std::ranges::find(item.times, name, &NamedTime::name);
  return display_class(std::string(name), found == item.times.end() ? "collective" : found->op_class);
}

void add_point(DataSet& set, const CaseResult& item, const Comparison& comparison, double predicted, double error,
               const std::string& payload) {
  const Published& published = comparison.published;
  if (published.unit != "ms" || published.value <= 0 || predicted <= 0) return;  // the axes are logarithmic
  set.rows.push_back({item.name, published.quantity, class_of_quantity(item, published.quantity), published.value,
                      predicted, error, payload, published.judged() ? "predicted" : "fitted"});
}

}  // namespace

DataSet comparison_points(const StudyResult& study) {
  DataSet set{
      "points", {"case", "quantity", "class", "published_ms", "predicted_ms", "error_pct", "payload", "role"}, {}};
  for (const CaseResult& item : study.cases) {
    for (const Comparison& comparison : item.published) {
      if (comparison.predicted) {
        add_point(set, item, comparison, *comparison.predicted, comparison.error_pct().value_or(0), "planned");
      }
      if (comparison.predicted_at_observed_payload) {
        add_point(set, item, comparison, *comparison.predicted_at_observed_payload,
                  comparison.error_at_observed_payload_pct().value_or(0), "observed");
      }
    }
  }
  return set;
}

DataSet iteration_points(const StudyResult& study) {
  DataSet set{"points", {"case", "source", "group", "published_ms", "predicted_ms", "error_pct", "role"}, {}};
  for (const IterationGroup& group : published_iterations(study)) {
    for (const auto& [result, comparison] : group.items) {
      const double predicted = comparison->predicted.value_or(0);
      if (predicted <= 0) continue;  // the axes are logarithmic
      set.rows.push_back({result->name, source_of(result->name), group.name, comparison->published.value, predicted,
                          comparison->error_pct().value_or(0),
                          comparison->published.judged() ? "predicted" : "fitted"});
    }
  }
  return set;
}

}  // namespace shardsim
