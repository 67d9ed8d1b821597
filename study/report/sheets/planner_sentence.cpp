#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/document/cells.h"
#include "base/text.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/planner_sheets.h"
#include "study/report/wording.h"

namespace shardsim {
namespace {

// " (80 % within 0.016-0.037?)", nothing where it is not known.
std::string range_of(const ComparedPlan& plan, const StudyResult& study) {
  const auto of = std::ranges::find(study.cases, plan.name, &CaseResult::name);
  if (of == study.cases.end() || !of->interval) return "";
  return fmt::format(" (80 % within {})", interval_cell(*of->interval));
}

// "torchrec follows with 1.305 times that", or that it is as fast. `times` is of the placement of hot rows that is
// told, and the order that of the mean over placements.
std::string second_text(const std::string& planner, double times) {
  const std::string shown = fixed(times, 3);
  if (shown == "1.000") return planner + " is as fast";
  if (times < 1) return planner + " follows, on average over the placements of hot rows";
  return fmt::format("{} follows with {} times that", planner, shown);
}

// Says what index_dedup of sequences changes of the order of the first two; nothing where it is the same to the digit.
std::string fair_text(const PlannerComparison& comparison, const StudyResult& study,
                      const std::vector<const ComparedPlan*>& plans) {
  const std::vector<FairTime> times = fair_times(comparison, study);
  if (times.size() < 2) return "";
  const std::string second = second_text(times[1].plan->planner, times[1].ms / times[0].ms);
  const bool same_order = times[0].plan == plans[0] && times[1].plan == plans[1];
  if (same_order && second == second_text(plans[1]->planner, *plans[1]->iteration_ms / *plans[0]->iteration_ms))
    return "";
  return fmt::format(" With index_dedup of sequences where that is faster, {} comes first and {}.",
                     times[0].plan->planner, second);
}

// The answer for one case.
std::string best_of_case(const PlannerComparison& comparison, const StudyResult& study) {
  const std::vector<const ComparedPlan*> plans = fastest_first(comparison, study);
  const auto solved = static_cast<std::size_t>(
      std::ranges::count_if(plans, [](const ComparedPlan* plan) { return plan->fitting_ms().has_value(); }));
  if (solved == 0)
    return fmt::format("Of {} planners none has a plan that fits for {}.", plans.size(), comparison.name);
  const double best = *plans.front()->iteration_ms;
  std::string text = fmt::format("Of {}, {} makes the fastest plan for {} on {}: {} ms{}",
                                 counted(plans.size(), "planner"), plans.front()->planner, comparison.workload,
                                 comparison.cluster, fixed(best, decimals_for(best)), range_of(*plans.front(), study));
  if (solved > 1) text += "; " + second_text(plans[1]->planner, *plans[1]->iteration_ms / best);
  if (solved < plans.size()) text += fmt::format("; {} of them made no plan that fits", plans.size() - solved);
  return text + "." + fair_text(comparison, study, plans);
}

// The next after the best: who has the fastest plan most often of the others, then most plans beside the best's, then
// the least mean. None where no other one has a plan beside the best's.
const PlannerTotal* next_after(const PlannerTotals& totals) {
  const auto rank = [](const PlannerTotal& each) { return std::tuple(-each.won, -each.pairs, *each.mean_times_pair); };
  const PlannerTotal* next = nullptr;
  for (const PlannerTotal& total : totals.planners) {
    if (total.planner == totals.best || total.pairs == 0) continue;
    if (next == nullptr || rank(total) < rank(*next)) next = &total;
  }
  return next;
}

std::string wins_text(const PlannerTotal& best, const PlannerTotals& totals) {
  const std::string text =
      fmt::format("Of {}, {} makes the fastest plan in ", counted(totals.planners.size(), "planner"), best.planner);
  if (best.won == totals.cases) return text + fmt::format("all {} cases.", totals.cases);
  const std::string solved = best.solved == totals.cases ? "every case" : fmt::format("{}", best.solved);
  return text + fmt::format("{} of {} cases, and a plan that fits in {}.", best.won, totals.cases, solved);
}

std::string follower_text(const PlannerTotal* next, const PlannerTotals& totals) {
  if (next == nullptr) return "";
  const std::string times = fixed(*next->mean_times_pair, 3);
  if (next->pairs == 1) {
    return fmt::format(
        " Next comes {}: in the one case for which both have a plan its iteration takes {} times as long.",
        next->planner, times);
  }
  const std::string where =
      next->pairs == totals.cases ? "" : fmt::format(", over the {} cases for which both have a plan", next->pairs);
  return fmt::format(" Next comes {}: its iterations take {} times as long on average{}.", next->planner, times, where);
}

// "autoshard and flexshard_2tier have no plan for any case."
std::string without_plans_text(const PlannerTotals& totals) {
  std::vector<std::string> names;
  for (const PlannerTotal& total : totals.planners) {
    if (total.solved == 0) names.push_back(total.planner);
  }
  if (names.empty()) return "";
  return fmt::format(" Without a plan for any case: {}.", some_names(names));
}

std::string best_of_cases(const std::vector<PlannerComparison>& comparisons) {
  const PlannerTotals totals = totals_of(comparisons);
  if (totals.best.empty()) {
    return fmt::format("Of {} none has a plan for any of the {} cases.", counted(totals.planners.size(), "planner"),
                       totals.cases);
  }
  const PlannerTotal& best = *std::ranges::find(totals.planners, totals.best, &PlannerTotal::planner);
  return wins_text(best, totals) + follower_text(next_after(totals), totals) + without_plans_text(totals);
}

}  // namespace

std::string planners_sentence(const StudyResult& study) {
  if (study.comparisons.empty()) return "";
  if (study.comparisons.size() == 1) return best_of_case(study.comparisons.front(), study);
  return best_of_cases(study.comparisons);
}

std::vector<FairTime> fair_times(const PlannerComparison& comparison, const StudyResult& study) {
  std::vector<FairTime> times;
  for (const ComparedPlan* plan : fastest_first(comparison, study)) {
    const auto of = std::ranges::find(study.cases, plan->name, &CaseResult::name);
    if (!plan->fitting_ms() || of == study.cases.end() || !of->iteration_ms_without_duplicates) continue;
    times.push_back({plan, fair_ms(*of), fair_ms(*of) < of->iteration_ms});
  }
  std::ranges::stable_sort(times, {}, &FairTime::ms);
  if (std::ranges::none_of(times, &FairTime::deduplicated)) times.clear();
  return times;
}

}  // namespace shardsim
