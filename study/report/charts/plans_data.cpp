#include <fmt/format.h>

#include <algorithm>

#include "study/report/charts/chart_data.h"
#include "study/report/sheets/planner_sheets.h"

namespace shardsim {
namespace {

constexpr std::size_t kCasesDrawn = 6;  // each is as high as it has planners

DataSet::Cell number_or_dash(const std::optional<double>& value) {
  return value ? DataSet::Cell{*value} : DataSet::Cell{"-"};
}

void add_planner(DataSet& set, const PlannerComparison& comparison, const ComparedPlan& plan) {
  const std::optional<double> best = comparison.best_ms();
  std::optional<double> times_best;
  if (plan.iteration_ms && best) times_best = *plan.iteration_ms / *best;
  set.rows.push_back({comparison.name, plan.planner, number_or_dash(plan.iteration_ms), number_or_dash(times_best),
                      number_or_dash(comparison.lower_bound_ms), memory_outcome(plan),
                      comparison.in_model(plan) ? "in-model" : ""});
}

// Says which plans stand below those that fit, and why.
std::string unfit_text(const StudyResult& study) {
  bool too_large = false, without_bar = false;
  for (const PlannerComparison& comparison : study.comparisons) {
    for (const ComparedPlan& plan : comparison.planners) {
      if (plan.needs_options) continue;
      too_large = too_large || (plan.iteration_ms && plan.bytes_over);
      without_bar = without_bar || !plan.iteration_ms;
    }
  }
  std::string text;
  if (too_large) text += " Grey bars, below the others: plans that do not fit in memory, and what they lack.";
  if (without_bar)
    text += " A planner without a bar has no plan, or one so large that it was not simulated; its text says which.";
  return text;
}

}  // namespace

DataSet planner_bars(const StudyResult& study) {
  DataSet set{
      "planners", {"case", "planner", "iteration_ms", "times_best", "lower_bound_ms", "memory", "in_model"}, {}};
  const std::size_t drawn = std::min(study.comparisons.size(), kCasesDrawn);
  for (std::size_t i = 0; i < drawn; ++i) {
    for (const ComparedPlan* plan : fastest_first(study.comparisons[i], study))
      add_planner(set, study.comparisons[i], *plan);
  }
  return set;
}

std::vector<Chart> planner_charts(const StudyResult& study) {
  if (study.comparisons.empty()) return {};
  const std::size_t cases = study.comparisons.size(), drawn = std::min(cases, kCasesDrawn);
  std::string caption =
      "The simulated iteration of each planner's plan that fits, the fastest first. The red line is the lower bound "
      "for "
      "plans with all rows in device memory. Bars that end in an arrow are longer than drawn." +
      unfit_text(study);
  const bool in_model = any_in_model(study);
  if (in_model)
    caption += " Paler bars, in-model: the model that labelled the planner's training data also judges it here.";
  if (drawn < cases) caption += fmt::format(" The first {} of {} cases are drawn.", drawn, cases);
  const std::string title = std::string("Planners side by side") + (in_model ? ", in-model" : "");
  return {{"planners", "planners", title, caption, drawn < cases, {planner_bars(study)}}};
}

DataSet cross_check_points(const CrossCheck& check, const StudyResult& study) {
  DataSet set{"points", {"plan", "estimated_ms", "simulated_ms", "mark", "label"}, {}};
  for (const std::size_t index : check.cases) {
    const CaseResult& item = study.cases[index];
    const auto worst = std::find_if(check.worst.begin(), check.worst.end(),
                                    [&](const ExplainedPlan& plan) { return plan.index == index; });
    const bool chosen = index == check.estimates_choice;
    std::string mark = "plan", label;
    if (worst != check.worst.end()) {
      mark = worst->too_good() ? "too good" : "too bad";
      label = std::to_string(worst - check.worst.begin() + 1);
    }
    if (chosen || index == check.fastest) {
      mark = !chosen ? "fastest" : index == check.fastest ? "choice and fastest" : "choice";
      label += (label.empty() ? "" : ": ") + item.name;
    }
    set.rows.push_back({item.name, item.torchrec->estimate.iteration_ms, item.iteration_ms, mark, label});
  }
  return set;
}

}  // namespace shardsim
