#include <fmt/format.h>

#include <algorithm>

#include "base/document/cells.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/planner_sheets.h"

namespace shardsim {
namespace {

std::string mean_cell(const std::optional<double>& mean, int places) {
  return mean ? fixed(*mean, places) : "-";
}

// By the mean beside the best planner, which rests on more cases than the others, then by how many cases are solved.
std::vector<PlannerTotal> by_mean(const PlannerTotals& totals) {
  std::vector<PlannerTotal> planners = totals.planners;
  const auto key = [](const PlannerTotal& total) {
    return std::pair(total.mean_times_pair.value_or(1e300), -total.solved);
  };
  std::ranges::stable_sort(planners, {}, key);
  return planners;
}

Sheet totals_sheet(const PlannerTotals& totals) {
  Sheet sheet;
  sheet.columns = {{"planner", false}, {"cases"}, {"solved"}, {"won"}, {"mean ms"}, {"mean x best"}};
  if (!totals.best.empty()) sheet.columns.insert(sheet.columns.end(), {{"x " + totals.best}, {"pairs"}});
  const std::vector<PlannerTotal> planners = by_mean(totals);
  double longest = 0;
  for (const PlannerTotal& total : planners) longest = std::max(longest, total.mean_iteration_ms.value_or(0));
  for (const PlannerTotal& total : planners) {
    Sheet::Row row{{total.planner, std::to_string(total.cases), std::to_string(total.solved), std::to_string(total.won),
                    mean_cell(total.mean_iteration_ms, decimals_for(longest)), mean_cell(total.mean_times_best, 3)},
                   total.solved == 0};
    if (!totals.best.empty()) {
      row.cells.push_back(mean_cell(total.mean_times_pair, 3));
      row.cells.push_back(std::to_string(total.pairs));
    }
    sheet.rows.push_back(std::move(row));
  }
  return sheet;
}

std::string pairs_text(const PlannerTotals& totals) {
  if (totals.best.empty()) return "";
  return fmt::format(
      "x {}: the iteration divided by that of {}, which has the fastest plan most often; a geometric mean over the "
      "pairs, that is all cases for which both have a plan.",
      totals.best, totals.best);
}

std::string totals_legend(const StudyResult& study, const PlannerTotals& totals) {
  return judge_text(study) +
         fmt::format(
             " won: cases in which no other planner is faster; a tie counts for each. mean ms, and mean x best "
             "(geometric mean of the iteration divided by the shortest one of its case): over the {} of {} cases for "
             "which every planner has a plan, not counting planners that have none for any case. {}",
             totals.common, totals.cases, pairs_text(totals));
}

}  // namespace

Section planner_totals_section(const StudyResult& study) {
  if (study.comparisons.size() < 2) return {};
  const PlannerTotals totals = totals_of(study.comparisons);
  Section section = table_section("Planners over all cases", totals_legend(study, totals), totals_sheet(totals));
  if (any_in_model(study)) section.remark = "in-model";
  return section;
}

Section planner_matrix_section(const StudyResult& study) {
  if (study.comparisons.size() < 2) return {};
  std::vector<std::string> planners;  // in the order of the totals, the best first
  for (const PlannerTotal& total : by_mean(totals_of(study.comparisons))) planners.push_back(total.planner);
  Sheet sheet{{{"case", false}, {"best ms"}}, {}};
  for (const std::string& planner : planners) sheet.columns.push_back({planner});
  const int places = decimals_for(longest_iteration_ms(study));
  for (const PlannerComparison& comparison : study.comparisons) {
    const std::optional<double> best = comparison.best_ms();
    Sheet::Row row{{comparison.name, best ? fixed(*best, places) : "-"}};
    for (const std::string& planner : planners) {
      const auto plan = std::ranges::find(comparison.planners, planner, &ComparedPlan::planner);
      const bool has = plan != comparison.planners.end() && plan->iteration_ms;
      row.cells.push_back(!has ? "-" : ratio_cell(plan->iteration_ms, best) + (plan->bytes_over ? " over" : ""));
    }
    sheet.rows.push_back(std::move(row));
  }
  return table_section(
      "Each planner on each case",
      "The iteration of each planner's plan, divided by the shortest one of the case that fits in "
      "memory (best ms); the planners that are best over all cases first. over: more memory than a GPU "
      "has. A dash: no plan.",
      std::move(sheet));
}

}  // namespace shardsim
