#include <algorithm>

#include "sim/report/chart_data.h"

namespace shardsim {

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
