#include <algorithm>

#include "sim/io/chart_data.h"

namespace shardsim {

DataSet cross_check_points(const CrossCheck& check, const StudyResult& study) {
  DataSet set{"points", {"plan", "estimated_ms", "simulated_ms", "mark", "label"}, {}};
  for (const std::size_t index : check.cases) {
    const CaseResult& item = study.cases[index];
    const auto worst = std::find_if(check.worst.begin(), check.worst.end(),
                                    [&](const ExplainedPlan& plan) { return plan.index == index; });
    std::string mark = "plan";
    if (worst != check.worst.end()) mark = worst->too_good() ? "too good" : "too bad";
    const bool named = worst != check.worst.end() || index == check.estimates_choice || index == check.fastest;
    if (index == check.estimates_choice && index == check.fastest) {
      mark = "choice and fastest";
    } else if (index == check.estimates_choice) {
      mark = "choice";
    } else if (index == check.fastest) {
      mark = "fastest";
    }
    set.rows.push_back(
        {item.name, item.torchrec->estimate.iteration_ms, item.iteration_ms, mark, named ? item.name : std::string()});
  }
  return set;
}

}  // namespace shardsim
