#include "study/report/fair_times.h"

#include <algorithm>

#include "study/report/result_sheets.h"

namespace shardsim {

std::vector<FairTime> fair_times(const PlannerComparison& comparison, const StudyResult& study) {
  std::vector<FairTime> times;
  for (const ComparedPlan* plan : fastest_first(comparison, study)) {
    const auto of = std::ranges::find(study.cases, plan->name, &CaseResult::name);
    if (!plan->fitting_ms() || of == study.cases.end() || !of->iteration_ms_without_duplicates) continue;
    const double with = *of->iteration_ms_without_duplicates;
    times.push_back({plan, std::min(*plan->iteration_ms, with), with < *plan->iteration_ms});
  }
  std::ranges::stable_sort(times, {}, &FairTime::ms);
  if (std::ranges::none_of(times, &FairTime::deduplicated)) times.clear();
  return times;
}

}  // namespace shardsim
